import type { AdoptionPlan, ObjectPlan } from "./adoptionPlan.ts";
import { isFresh, isSettled } from "./adoptionPlan.ts";
import type { Difference } from "./difference.ts";
import type { Restart } from "./restarts.ts";

/** Longest text of one side of a difference. */
const VALUE_LENGTH = 70;

/** The plan for a person: each object, then the pods that restart, then what stands in the way. */
export function planText(plan: AdoptionPlan): string {
  const { objects } = plan;
  const restarts = objects.flatMap((each) => (each.restart === undefined ? [] : [each.restart]));
  const undeclared = objects.filter((each) => each.undeclared.length > 0);
  const refused = objects.filter((each) => each.refusals.length > 0);
  return [
    ...objects.flatMap(objectLines),
    "",
    ...(restarts.length === 0
      ? ["Pods: all keep running."]
      : ["Pods:", ...restarts.map((each) => `  ${restartText(each)}`)]),
    ...(refused.length === 0
      ? []
      : ["", "Refused:", ...refused.flatMap((each) => lines(each.title, each.refusals))]),
    ...(undeclared.length === 0 ? [] : ["", ...undeclaredLines(undeclared)]),
  ].join("\n");
}

/** Why there is nothing to adopt. */
export function nothingText(plan: AdoptionPlan, stack: string): string {
  return isFresh(plan)
    ? `Nothing to adopt: none of these objects exists; \`pulumi up --stack ${stack}\` creates them.`
    : "Nothing to adopt.";
}

function objectLines(plan: ObjectPlan): string[] {
  const declared = (difference: Difference): boolean => !plan.undeclared.includes(difference);
  return [
    `${plan.title}: ${stateOf(plan)}`,
    ...plan.differences.map(
      (each) =>
        `  ${declared(each) ? " " : "!"} ${each.path}: ${valueText(each.live)} -> ${valueText(each.wanted)}`,
    ),
  ];
}

function stateOf(plan: ObjectPlan): string {
  if (plan.live === undefined) return "does not exist, will be created";
  if (isSettled(plan)) return "managed, nothing to do";
  const parts = [
    plan.rendered.managed ? "managed" : "will be adopted",
    ...(plan.taken.length === 0 ? [] : [`takes over from ${plan.taken.join(", ")}`]),
    ...(plan.differences.length === 0 ? ["no difference"] : []),
  ];
  return parts.join(", ");
}

function valueText(value: unknown): string {
  if (value === undefined) return "(none)";
  const text = JSON.stringify(value);
  return text.length > VALUE_LENGTH ? `${text.slice(0, VALUE_LENGTH)}...` : text;
}

/** One line on a Deployment's pods and what clients notice. */
export function restartText({ deployment, pods, routes, outageSeconds }: Restart): string {
  const count =
    pods.live === pods.wanted ? podCount(pods.live) : `${pods.live} -> ${podCount(pods.wanted)}`;
  const route = routes.length === 0 ? "no Service" : routes.join(", ");
  if (outageSeconds === undefined) return `${deployment}: ${count}, behind ${route}`;
  const { grace, coldStart } = outageSeconds;
  if (grace + coldStart === 0) return `${deployment}: ${count}, restarted one by one, no outage`;
  return (
    `${deployment}: ${count}, restarted; ${route} out for up to ${grace + coldStart} s ` +
    `(${grace} s grace of the old pods, ${coldStart} s cold start)`
  );
}

function podCount(count: number): string {
  return count === 1 ? "1 pod" : `${count} pods`;
}

function lines(title: string, reasons: readonly string[]): string[] {
  return reasons.map((reason) => `  ${title}: ${reason}`);
}

/** The lines that would declare what is not, so that nobody types paths. */
function undeclaredLines(plans: readonly ObjectPlan[]): string[] {
  const count = plans.reduce((sum, { undeclared }) => sum + undeclared.length, 0);
  return [
    `Not declared (${count}, marked !). Change the stack file or the object, or add what is meant to be:`,
    ...plans.flatMap(({ title, undeclared }) => [
      `  - objects: [${JSON.stringify(title)}]`,
      "    fields:",
      ...undeclared.map(({ path }) => `      - ${JSON.stringify(path)}`),
      "    why: ...",
    ]),
  ];
}
