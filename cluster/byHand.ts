import type { FieldSet } from "../adopt/kubernetesObject.ts";
import { NAMESPACE } from "../components/names.ts";
import type { StackWorkload } from "../stackPlan.ts";
import type { LiveObject } from "./facts.ts";

/** What puts a hand's change back, and why a plain `pulumi up` does not: it compares with the state. */
export const PUT_BACK =
  "a plain `pulumi up` does not see that; `pulumi up --refresh --skip-preview` puts it back";

/** Which fields a manager set, as the API server records it. */
export interface ManagedFields {
  readonly manager?: string;
  readonly subresource?: string;
  readonly fieldsV1?: object;
}

/** `kubectl rollout restart` leaves this behind: a wish for new pods, and no other content. */
const RESTARTED = "kubectl.kubernetes.io/restartedAt";

/**
 * Deployments that a hand or an autoscaler has scaled, one line each: this program's plan is not what runs, and its next
 * update does not change that. A number that the program itself set and that the next update changes is none.
 */
export function scaledByHand(
  objects: readonly LiveObject[],
  workloads: readonly Pick<StackWorkload, "name" | "replicas">[],
): readonly string[] {
  return workloads.flatMap(({ name, replicas }) => {
    const live = objects.find((each) => each.kind === "Deployment" && each.metadata.name === name);
    if (live?.replicas === undefined || live.replicas === replicas) return [];
    if (isOurs(live.managedFields ?? [], "replicas")) return [];
    return [
      `Deployment ${NAMESPACE}/${name}: spec.replicas is ${live.replicas} in the cluster, by a hand or an autoscaler, ` +
        `and ${replicas} in the stack; ${PUT_BACK}`,
    ];
  });
}

/** Deployments with a pod template in which somebody else has set fields, one line each. */
export function templatesByHand(objects: readonly LiveObject[]): readonly string[] {
  return objects.flatMap(({ kind, metadata, managedFields = [] }) => {
    if (kind !== "Deployment") return [];
    const changes = managedFields
      .filter(({ manager, subresource }) => manager !== NAMESPACE && subresource !== "status")
      .map(({ manager = "somebody", fieldsV1 }) => {
        const template = (fieldsV1 as FieldSet | undefined)?.["f:spec"]?.["f:template"];
        const paths = template === undefined ? [] : leavesOf(template);
        return { manager, paths: paths.filter((path) => !path.includes(RESTARTED)) };
      })
      .filter(({ paths }) => paths.length > 0);
    if (changes.length === 0) return [];
    const who = changes.map(({ manager, paths }) => `${manager} set ${paths.join(", ")}`);
    return [
      `Deployment ${NAMESPACE}/${metadata.name ?? ""}: its pod template is not this program's alone: ${who.join("; ")}; ${PUT_BACK}`,
    ];
  });
}

/** Whether this program was the last to state a field of spec: the API server takes it away from whom another overrides. */
export function isOurs(managedFields: readonly ManagedFields[], field: string): boolean {
  return managedFields.some(
    ({ manager, fieldsV1 }) =>
      manager === NAMESPACE &&
      (fieldsV1 as FieldSet | undefined)?.["f:spec"]?.[`f:${field}`] !== undefined,
  );
}

/** Paths of the fields without fields of their own: `spec.containers[server].image`. */
function leavesOf(fields: FieldSet, path = ""): readonly string[] {
  const entries = Object.entries(fields).filter(([key]) => key !== ".");
  if (entries.length === 0) return [path];
  return entries.flatMap(([key, inner]) => leavesOf(inner, `${path}${partOf(key, path)}`));
}

function partOf(key: string, path: string): string {
  if (key.startsWith("f:")) return `${path === "" ? "" : "."}${key.slice(2)}`;
  const values = key.startsWith("k:") ? (JSON.parse(key.slice(2)) as object) : { key };
  return `[${Object.values(values).join(", ")}]`;
}
