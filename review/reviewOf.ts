import type { PolicyEvent } from "@pulumi/pulumi/automation/events.js";
import type { PreviewFacts } from "../previewFacts.ts";
import { type EnginePreview, readEngineEvents, withoutPackFolders } from "./engineEvents.ts";
import { maskedText, maskedValue, secretsIn } from "./maskSecrets.ts";
import { type PodChange, podChanges } from "./podChange.ts";
import {
  droppedGuards,
  type FieldChange,
  type ResourceChange,
  resourceChanges,
} from "./resourceChange.ts";
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
  /** What the base's stack file gave cause to warn of. */
  readonly baseWarnings: readonly string[];
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
  /** Files beside the stack file that differ from the base. */
  readonly changedFiles: readonly string[];
  /** Version of the Pulumi CLI. */
  readonly cli: string;
}

/** A resource that changes, without its inputs: those may hold secrets. */
export type ShownChange = Omit<ResourceChange, "before" | "after">;

/** A preview as a reviewer needs it. Nothing in it is secret, so that whatever shows it need not think of that. */
export interface Review extends Judgement {
  readonly stack: string;
  readonly facts: PreviewFacts | undefined;
  /** Whether the engine came to its end; else changes and policies are only those up to where it stopped. */
  readonly complete: boolean;
  readonly changes: readonly ShownChange[];
  readonly pods: readonly PodChange[];
  readonly outages: readonly RouteOutage[];
  readonly edits: readonly FieldChange[];
  readonly policies: readonly PolicyEvent[];
  /** Version by name of each policy pack that ran. */
  readonly policyPacks: Readonly<Record<string, string>>;
  /** What this edit gives cause to look at: the program's own points first, then what else warned. */
  readonly warnings: readonly string[];
  /** What deserved a look before, and still does. */
  readonly standingWarnings: readonly string[];
  readonly printed: string;
  readonly provenance: Provenance;
  /** Version of the Kubernetes provider; undefined where the preview did not get that far. */
  readonly provider: string | undefined;
}

/** Draws everything that follows from a preview. Pure. */
export function reviewOf(args: ReviewArgs): Review {
  const { stack, facts, edits, provenance, printed } = args;
  const engine = readEngineEvents(args.events);
  const changes = resourceChanges(engine.steps);
  const dropped = droppedGuards(engine.steps);
  const pods = podChanges(changes);
  const outages = facts === undefined ? [] : routeOutages(facts, pods, changes);
  const reached = facts?.server !== undefined;
  const drift = facts?.drift ?? [];
  const secrets = secretsOf(changes, edits);
  const shown = (text: string): string => maskedText(text, secrets);
  // What blocks stands at the top already.
  const warnings = warningsOf(facts, engine).filter((line) => !drift.includes(line));
  const stands = (line: string): boolean =>
    changes.length === 0 || args.baseWarnings.includes(line);
  const { blockers, ...judgement } = judge({
    ...{ engine, changes, dropped, pods, outages, reached, printed, drift },
  });
  return {
    ...judgement,
    blockers: blockers.map(shown),
    stack,
    facts: facts && {
      ...facts,
      warnings: facts.warnings.map(shown),
      notes: facts.notes.map(shown),
    },
    complete: engine.succeeded,
    changes: changes.map(({ operation, kind, name, fields, replacedFor }) => ({
      ...{ operation, kind, name, replacedFor },
      fields: fields.map((field) => masked(field, kind)),
    })),
    pods,
    outages,
    edits: edits.map((edit) => masked(edit, "")),
    policies: engine.policies.map((policy) => ({ ...policy, message: shown(policy.message) })),
    policyPacks: engine.policyPacks,
    warnings: warnings.filter((line) => !stands(line)).map(shown),
    standingWarnings: warnings.filter(stands).map(shown),
    printed: shown(withoutPackFolders(printed)),
    provenance,
    provider: providerVersion(engine),
  };
}

/** The exit code of a review: 0 nothing changes, 2 something does, 1 blocked. */
export function exitCodeOf({ verdict }: Pick<Judgement, "verdict">): 0 | 1 | 2 {
  if (verdict === "blocked") return 1;
  return verdict === "no change" ? 0 : 2;
}

function masked(field: FieldChange, kind: string): FieldChange {
  const shown = (value: unknown): unknown => maskedValue(value, field.path, kind);
  return { ...field, before: shown(field.before), after: shown(field.after) };
}

function secretsOf(
  changes: readonly ResourceChange[],
  edits: readonly FieldChange[],
): readonly string[] {
  const found = [
    ...changes.flatMap(({ before, after, kind }) =>
      [before, after].flatMap((inputs) => secretsIn(inputs, "", kind)),
    ),
    ...edits.flatMap(({ path, before, after }) =>
      [before, after].flatMap((value) => secretsIn(value, path, "")),
    ),
  ];
  // The longest first: one may be a part of another.
  return [...new Set(found)].sort((a, b) => b.length - a.length);
}

/** The engine has the program's own lines too, as one message. */
function warningsOf(facts: PreviewFacts | undefined, { warnings }: EnginePreview): string[] {
  const own = [...(facts?.warnings ?? []), ...(facts?.notes ?? [])];
  const other = warnings.filter((message) => !own.some((line) => message.includes(line)));
  return [...own, ...other];
}

function providerVersion({ steps }: EnginePreview): string | undefined {
  const provider = steps.find(({ type }) => type === "pulumi:providers:kubernetes");
  const version: unknown = provider?.new?.inputs.version;
  return typeof version === "string" ? version : undefined;
}
