import type { StepEventMetadata } from "@pulumi/pulumi/automation/events.js";
import { compared } from "../adopt/difference.ts";

/** What happens to a resource, in the order in which a reader looks at it. */
export const OPERATIONS = ["delete", "replace", "update", "create", "adopt", "read"] as const;
export type Operation = (typeof OPERATIONS)[number];

/** One field that changes; an absent side is undefined. */
export interface FieldChange {
  /** As in `spec.template.spec.containers[server].env[HOME].value`. */
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** One resource that changes. */
export interface ResourceChange {
  readonly operation: Operation;
  /** Kubernetes kind; the Pulumi type for what is none. */
  readonly kind: string;
  /** Pulumi's logical name, which is the Kubernetes name. */
  readonly name: string;
  /** Inputs before and after; undefined where there are none. */
  readonly before: unknown;
  readonly after: unknown;
  /** Fields that differ; empty where one side is missing. */
  readonly fields: readonly FieldChange[];
  /** Paths that force the replacement. */
  readonly replacedFor: readonly string[];
}

/** A guard of the program that an edit takes off an object which keeps existing. */
export interface DroppedGuard {
  readonly kind: string;
  readonly name: string;
  readonly guard: "protect" | "retainOnDelete";
}

const operations: Readonly<Record<string, Operation>> = {
  delete: "delete",
  discard: "delete",
  replace: "replace",
  update: "update",
  create: "create",
  import: "adopt",
  "import-replacement": "adopt",
  read: "read",
  "read-replacement": "read",
};

/** The resources that a preview changes. Components are left out: they only group what they contain. */
export function resourceChanges(steps: readonly StepEventMetadata[]): readonly ResourceChange[] {
  const changes = steps.flatMap((step) => {
    const operation = operations[step.op];
    if (operation === undefined || !isCustom(step)) return [];
    const [before, after] = [step.old?.inputs, step.new?.inputs];
    return [
      {
        operation,
        kind: kindOf(step.type),
        name: nameOf(step.urn),
        before,
        after,
        fields: fieldsOf(step),
        replacedFor: operation === "replace" ? replaceReasons(step) : [],
      },
    ];
  });
  // The engine's order is that of its parallel work, another one in each run.
  return changes.sort((a, b) => a.name.localeCompare(b.name) || a.kind.localeCompare(b.kind));
}

/** Guards that objects lose while they stay. Such an edit changes no field, so that the engine calls it unchanged. */
export function droppedGuards(steps: readonly StepEventMetadata[]): readonly DroppedGuard[] {
  const dropped = steps.flatMap(({ urn, type, old, new: planned }) =>
    (["protect", "retainOnDelete"] as const)
      .filter((guard) => planned !== undefined && old?.[guard] === true && planned[guard] !== true)
      .map((guard) => ({ kind: kindOf(type), name: nameOf(urn), guard })),
  );
  return dropped.sort((a, b) => a.name.localeCompare(b.name));
}

/** "Deployment" of `kubernetes:apps/v1:Deployment`; other types stay whole. */
function kindOf(type: string): string {
  const [provider, , kind] = type.split(":");
  return provider === "kubernetes" && kind !== undefined ? kind : type;
}

/** The logical name: a URN's last part. */
export function nameOf(urn: string): string {
  return urn.split("::").slice(3).join("::");
}

function isCustom({ old, new: planned }: StepEventMetadata): boolean {
  return (planned ?? old)?.custom === true;
}

function fieldsOf({ old, new: planned, detailedDiff }: StepEventMetadata): readonly FieldChange[] {
  if (old === undefined || planned === undefined) return [];
  const fields = compared("", old.inputs, planned.inputs)
    .filter(({ path }) => !path.startsWith("__"))
    .map(({ path, live, wanted }) => ({ path, before: live, after: wanted }));
  // After a refresh the inputs are equal: only the provider then knows what a hand has changed.
  return fields.length > 0
    ? fields
    : Object.keys(detailedDiff ?? {}).map((path) => ({
        path,
        before: "(live)",
        after: "(program)",
      }));
}

/** The provider's own words for it, in either of the two forms that it has. */
function replaceReasons({ keys = [], detailedDiff }: StepEventMetadata): readonly string[] {
  const forced = Object.entries(detailedDiff ?? {})
    .filter(([, { diffKind }]) => diffKind.endsWith("-replace"))
    .map(([path]) => path);
  return forced.length > 0 ? forced : keys;
}
