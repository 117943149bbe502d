import type { ResourceChange } from "./resourceChange.ts";

/** What an update does to the pods of one Deployment. */
export interface PodChange {
  /** Name of the Deployment. */
  readonly workload: string;
  /**
   * restarts: the pod template changes, so that every pod is replaced. scales: only their number changes, and running
   * pods stay. starts, ends: from or to 0 pods.
   */
  readonly effect: "restarts" | "scales" | "starts" | "ends";
  /** Pods before and after. */
  readonly before: number;
  readonly after: number;
  /** Fields of the template that change, without `spec.template.`; empty unless it restarts. */
  readonly because: readonly string[];
}

const TEMPLATE = "spec.template.";

/** What becomes of running pods, one entry for each Deployment whose pods an update touches. */
export function podChanges(changes: readonly ResourceChange[]): readonly PodChange[] {
  return changes.filter(({ kind }) => kind === "Deployment").flatMap(podChange);
}

function podChange(change: ResourceChange): readonly PodChange[] {
  const { operation, name: workload } = change;
  // An adopted Deployment runs already; whether its template changes is told by the fields.
  const before = operation === "adopt" ? replicasOf(change.after) : replicasOf(change.before);
  const after = replicasOf(change.after);
  const because = change.fields
    .filter(({ path }) => path.startsWith(TEMPLATE))
    .map(({ path }) => path.slice(TEMPLATE.length));
  const replaced = operation === "replace" || because.length > 0;
  if (before > 0 && after > 0 && replaced) {
    return [{ workload, effect: "restarts", before, after, because }];
  }
  if (before === after) return [];
  const effect = before === 0 ? "starts" : after === 0 ? "ends" : "scales";
  return [{ workload, effect, before, after, because: [] }];
}

/** Replicas of a Deployment's inputs: 0 where there are none, Kubernetes' default of 1 where they are not stated. */
function replicasOf(inputs: unknown): number {
  if (inputs === undefined) return 0;
  const { spec } = inputs as { readonly spec?: { readonly replicas?: number } };
  return spec?.replicas ?? 1;
}
