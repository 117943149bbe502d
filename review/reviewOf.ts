import type { PreviewFacts } from "../previewFacts.ts";
import { type EnginePreview, readEngineEvents } from "./engineEvents.ts";
import { type PodChange, podChanges } from "./podChange.ts";
import { droppedGuards, type FieldChange, type ResourceChange } from "./resourceChange.ts";
import { resourceChanges } from "./resourceChange.ts";
import { type RouteOutage, routeOutages } from "./routeOutage.ts";
import { judge, type Judgement } from "./verdict.ts";

/** What a review is made of. */
export interface ReviewArgs {
  readonly stack: string;
  /** The CLI's event log. */
  readonly events: string;
  /** What the program wrote; absent when it stopped before it had looked at the cluster. */
  readonly facts: PreviewFacts | undefined;
  /** What the CLI printed: the raw diff, and the only word where it failed before its first event. */
  readonly printed: string;
  /** Keys of the stack file that differ from the base. */
  readonly edits: readonly FieldChange[];
  readonly provenance: Provenance;
}

/** What was looked at, with which tools. */
export interface Provenance {
  /** Abbreviated commit of the work tree, and whether it has changes that are not committed. */
  readonly commit: string;
  readonly dirty: boolean;
  /** What it is compared with: as the caller named it, and its abbreviated commit. */
  readonly base: string;
  readonly baseCommit: string;
  /** Files beside the stack files that differ from the base. */
  readonly changedFiles: readonly string[];
  /** Version of the Pulumi CLI. */
  readonly cli: string;
}

/** A preview as a reviewer needs it: everything that the report and the terminal show. */
export interface Review extends ReviewArgs, Judgement {
  readonly engine: EnginePreview;
  readonly changes: readonly ResourceChange[];
  readonly pods: readonly PodChange[];
  readonly outages: readonly RouteOutage[];
  /** Version of the Kubernetes provider; undefined where the preview did not get that far. */
  readonly provider: string | undefined;
}

/** Draws everything that follows from a preview. Pure. */
export function reviewOf(args: ReviewArgs): Review {
  const { facts } = args;
  const engine = readEngineEvents(args.events);
  const changes = resourceChanges(engine.steps);
  const dropped = droppedGuards(engine.steps);
  const pods = podChanges(changes);
  const outages = facts === undefined ? [] : routeOutages(facts, pods, changes);
  const reached = facts?.server !== undefined;
  return {
    ...args,
    ...judge({ engine, changes, dropped, pods, outages, reached }),
    engine,
    changes,
    pods,
    outages,
    provider: providerVersion(engine),
  };
}

/** The exit code of a review: 0 nothing changes, 2 something does, 1 blocked. */
export function exitCodeOf({ verdict }: Judgement): 0 | 1 | 2 {
  if (verdict === "blocked") return 1;
  return verdict === "no change" ? 0 : 2;
}

function providerVersion({ steps }: EnginePreview): string | undefined {
  const provider = steps.find(({ type }) => type === "pulumi:providers:kubernetes");
  const version: unknown = provider?.new?.inputs.version;
  return typeof version === "string" ? version : undefined;
}
