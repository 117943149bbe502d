import type { PolicyEvent } from "@pulumi/pulumi/automation/events.js";
import { CODER_PREDICTOR, NAMESPACE } from "../components/names.ts";
import type { EnginePreview } from "./engineEvents.ts";
import type { PodChange } from "./podChange.ts";
import { type DroppedGuard, nameOf, type ResourceChange } from "./resourceChange.ts";
import { isInterrupted, type RouteOutage } from "./routeOutage.ts";

/** What a reviewer reads first. */
export type Verdict =
  "no change" | "safe" | "interrupts a route" | "restarts pods" | "ends pods" | "blocked";

/** What becomes of Service coder-predictor. */
export type CoderService =
  "unchanged" | "updated in place" | "created" | "adopted" | "not known" | "BLOCKED";

/** Everything that a verdict follows from. */
export interface VerdictArgs {
  readonly engine: EnginePreview;
  readonly changes: readonly ResourceChange[];
  readonly dropped: readonly DroppedGuard[];
  readonly pods: readonly PodChange[];
  readonly outages: readonly RouteOutage[];
  /** Whether the program has looked at its cluster. */
  readonly reached: boolean;
  /** What the CLI printed. */
  readonly printed: string;
}

/** A verdict, and why the update must not be applied. */
export interface Judgement {
  readonly verdict: Verdict;
  readonly coderService: CoderService;
  /** One line each; empty unless blocked. */
  readonly blockers: readonly string[];
}

/** Judges a preview. Pure. */
export function judge(args: VerdictArgs): Judgement {
  const { engine, changes, pods, outages } = args;
  const service = serviceBlockers(args);
  const blockers = [
    ...service,
    ...engine.policies.filter(isMandatory).map(describePolicy),
    ...(engine.succeeded && !args.reached ? [OFFLINE] : []),
    ...engine.errors.flatMap(linesOf),
  ];
  // A CLI that fails before its first event has only printed why; one that is killed, not even that.
  if (!engine.succeeded && blockers.length === 0) {
    blockers.push(
      "the preview did not come to its end",
      ...linesOf(args.printed).slice(-MOST_LINES),
    );
  }
  return {
    verdict: blockers.length > 0 ? "blocked" : freeVerdict(changes, pods, outages),
    coderService: service.length > 0 ? "BLOCKED" : coderServiceState(engine, changes),
    blockers,
  };
}

/** Lines of what the CLI printed that stand for its error. */
const MOST_LINES = 5;

const OFFLINE =
  "the preview ran without its cluster (LLM_SERVING_OFFLINE = 1): what it would meet there is not known; unset it";

function linesOf(message: string): readonly string[] {
  return message
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

function freeVerdict(
  changes: readonly ResourceChange[],
  pods: readonly PodChange[],
  outages: readonly RouteOutage[],
): Verdict {
  if (pods.some(({ effect }) => effect === "restarts")) return "restarts pods";
  if (pods.some(({ effect }) => effect === "ends")) return "ends pods";
  if (outages.some(isInterrupted)) return "interrupts a route";
  return changes.length > 0 ? "safe" : "no change";
}

/** Why coder-predictor, or the namespace around it, would not survive: for a stack that runs already. */
function serviceBlockers({ engine, changes, dropped }: VerdictArgs): readonly string[] {
  const live = engine.steps.some(({ type, old }) => type.startsWith("kubernetes:") && old);
  const lost = changes
    .filter(({ kind, name }) => isPrecious(kind, name))
    .filter(({ operation }) => ["delete", "replace", "create"].includes(operation))
    .filter(({ operation }) => live || operation !== "create")
    .map(({ operation, kind, name, replacedFor }) => {
      const why = replacedFor.length === 0 ? "" : ` for ${replacedFor.join(", ")}`;
      const means =
        operation === "create"
          ? "the stack runs and does not have it: its clients' address is gone already, see docs/recover.md"
          : "its clients would lose the ClusterIP that they hold (only updates in place are allowed)";
      return `${kind} ${name} would be ${pastOf[operation]}${why}: ${means}`;
    });
  const unguarded = dropped
    .filter(({ kind, name }) => isPrecious(kind, name))
    .map(
      ({ kind, name, guard }) =>
        `${kind} ${name} would lose \`${guard}\`: the next edit could then delete it; restore it in components/guards.ts`,
    );
  return [...lost, ...unguarded];
}

const pastOf: Readonly<Record<string, string>> = {
  delete: "deleted",
  replace: "replaced",
  create: "created anew",
};

/** The Service, and the namespace whose end would be its end. */
function isPrecious(kind: string, name: string): boolean {
  return (
    (kind === "Service" && name === CODER_PREDICTOR) || (kind === "Namespace" && name === NAMESPACE)
  );
}

function coderServiceState(
  { steps }: EnginePreview,
  changes: readonly ResourceChange[],
): CoderService {
  const change = changes.find(({ kind, name }) => kind === "Service" && name === CODER_PREDICTOR);
  if (change === undefined) {
    const seen = steps.some(({ urn }) => urn.endsWith(`core/v1:Service::${CODER_PREDICTOR}`));
    return seen ? "unchanged" : "not known";
  }
  if (change.operation === "create") return "created";
  return change.operation === "adopt" ? "adopted" : "updated in place";
}

/** Whether a policy stops the update. */
export function isMandatory({ enforcementLevel }: PolicyEvent): boolean {
  return enforcementLevel === "mandatory";
}

/** One line of a policy's finding. */
export function describePolicy({
  policyName,
  policyPackName,
  message,
  resourceUrn,
}: PolicyEvent): string {
  const subject = resourceUrn === undefined ? "" : ` on ${nameOf(resourceUrn)}`;
  // The pack's description of the policy stands above the finding itself.
  const finding = message.trim().split("\n").at(-1) ?? "";
  return `policy ${policyPackName}/${policyName}${subject}: ${finding}`;
}
