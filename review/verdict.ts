import { type CoderService, coderServiceState, serviceBlockers } from "./coderService.ts";
import type { EnginePreview } from "./engineEvents.ts";
import type { PodChange } from "./podChange.ts";
import { describePolicy, isMandatory } from "./policyText.ts";
import type { DroppedGuard, ResourceChange } from "./resourceChange.ts";
import { isInterrupted, type RouteOutage } from "./routeOutage.ts";

/** What a reviewer reads first. */
export type Verdict =
  "no change" | "safe" | "interrupts a route" | "restarts pods" | "ends pods" | "blocked";

/** Everything that a verdict follows from. */
export interface VerdictArgs {
  readonly engine: EnginePreview;
  readonly changes: readonly ResourceChange[];
  readonly dropped: readonly DroppedGuard[];
  readonly pods: readonly PodChange[];
  readonly outages: readonly RouteOutage[];
  /** Whether the program has looked at its cluster. */
  readonly reached: boolean;
  /** Where hands have made the cluster another one than the stack says: cards and outages then are not as forecast. */
  readonly drift: readonly string[];
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
  const service = serviceBlockers(engine, changes, args.dropped);
  const blockers = [
    ...service,
    ...engine.policies.filter(isMandatory).map(describePolicy),
    ...(engine.succeeded && !args.reached ? [OFFLINE] : []),
    ...args.drift,
    ...engine.errors.flatMap(linesOf),
  ];
  // A CLI that fails before its first event has only printed why; one that is killed, not even that.
  if (!engine.succeeded && blockers.length === 0) {
    blockers.push(
      "the preview did not come to its end",
      ...linesOf(args.printed).slice(-MOST_LINES),
      ...remediesFor(args.printed),
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

/** What the CLI says before it previews anything, and what to do about it; $1 is the stack. */
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [
    /no stack named '([^']+)' found/,
    "this backend has no such stack: set PULUMI_BACKEND_URL to the one that has it, or run " +
      "`pulumi stack init $1` once (docs/state.md)",
  ],
  [
    /PULUMI_ACCESS_TOKEN must be set/,
    "no state backend is chosen: set PULUMI_BACKEND_URL, or run `pulumi login` (docs/state.md)",
  ],
];

function remediesFor(printed: string): readonly string[] {
  return REMEDIES.flatMap(([said, remedy]) => {
    const [found] = said.exec(printed) ?? [];
    return found === undefined ? [] : [found.replace(said, remedy)];
  });
}

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
