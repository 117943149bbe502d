import { NAMESPACE } from "../components/names.ts";
import type { FieldSet, KubernetesObject, ManagedFieldsEntry } from "./kubernetesObject.ts";

/** The program's field manager, which the annotation pulumi.com/patchFieldManager pins. */
export const OUR_MANAGER = NAMESPACE;

const LAST_APPLIED = "f:kubectl.kubernetes.io/last-applied-configuration";

/** Controllers of the cluster itself: they keep what they set (a Deployment's revision, a finalizer). */
const clusterOwn = /^(kube-|cloud-controller-manager$)/;

/** kubectl has one manager per verb (-client-side-apply, -edit, -rollout, -set), and `kubectl` for scale. */
const fromKubectl = /^(kubectl|before-first-apply$)/;

/**
 * Whether adoption takes an entry's fields over.
 * @param declared further managers that the operator gives up, by exact name
 */
function isTaken(entry: ManagedFieldsEntry, declared: readonly string[]): boolean {
  if (entry.subresource === "status" || isOurs(entry)) return false;
  // What an autoscaler left behind; one that is still there is refused before this counts.
  if (entry.subresource === "scale") return true;
  return (
    fromKubectl.test(entry.manager) ||
    entry.manager === OUR_MANAGER ||
    declared.includes(entry.manager)
  );
}

function isOurs({ manager, operation, subresource }: ManagedFieldsEntry): boolean {
  return manager === OUR_MANAGER && operation === "Apply" && subresource === undefined;
}

function entriesOf(object: KubernetesObject): readonly ManagedFieldsEntry[] {
  return object.metadata.managedFields ?? [];
}

/** Names of the managers whose fields adoption takes over, each once. */
export function takenManagers(object: KubernetesObject, declared: readonly string[]): string[] {
  const taken = entriesOf(object).filter((entry) => isTaken(entry, declared));
  return [...new Set(taken.map(({ manager }) => manager))];
}

/** Names of managers that would fight with the program: neither ours, nor taken, nor the cluster's own. */
export function foreignManagers(object: KubernetesObject, declared: readonly string[]): string[] {
  const foreign = entriesOf(object).filter(
    (entry) =>
      entry.subresource !== "status" &&
      !isOurs(entry) &&
      !isTaken(entry, declared) &&
      !clusterOwn.test(entry.manager),
  );
  return [...new Set(foreign.map(({ manager }) => manager))];
}

/**
 * The managedFields after the handover: one entry of the program's manager holds what the taken ones had. The next
 * apply of that manager then removes what the program does not state, without a conflict, in a preview as in `up`.
 * @returns undefined when nothing is to be handed over
 */
export function handedOver(
  live: KubernetesObject,
  wanted: KubernetesObject,
  declared: readonly string[],
): ManagedFieldsEntry[] | undefined {
  const entries = entriesOf(live);
  const taken = entries.filter((entry) => isTaken(entry, declared));
  if (taken.length === 0) return undefined;
  const mine = entries.filter((entry) => isOurs(entry) || isTaken(entry, declared));
  const times = mine.flatMap(({ time }) => (time === undefined ? [] : [time])).sort();
  const [time] = times.slice(-1);
  const handed: ManagedFieldsEntry = {
    manager: OUR_MANAGER,
    operation: "Apply",
    apiVersion: live.apiVersion,
    ...(time === undefined ? {} : { time }),
    fieldsType: "FieldsV1",
    fieldsV1: [...mine.map(({ fieldsV1 }) => fieldsV1), ownerless(live, wanted)].reduce(union, {}),
  };
  return [handed, ...entries.filter((entry) => !mine.includes(entry))];
}

/**
 * Defaults that nobody owns after `kubectl apply --server-side` and that forbid what the program wants: Recreate is
 * refused as long as a `rollingUpdate` stands beside it.
 */
function ownerless(live: KubernetesObject, wanted: KubernetesObject): FieldSet {
  const strategy = strategyOf(live);
  if (strategy?.rollingUpdate === undefined) return {};
  if (strategyOf(wanted)?.rollingUpdate !== undefined) return {};
  const fields = { ".": {}, "f:maxSurge": {}, "f:maxUnavailable": {} };
  return { "f:spec": { "f:strategy": { "f:rollingUpdate": fields } } };
}

function strategyOf(object: KubernetesObject): { readonly rollingUpdate?: unknown } | undefined {
  const spec = object.spec as { strategy?: { rollingUpdate?: unknown } } | undefined;
  return object.kind === "Deployment" ? spec?.strategy : undefined;
}

function union(a: FieldSet, b: FieldSet): FieldSet {
  const shared = Object.entries(b).map(([key, fields]) => [key, union(a[key] ?? {}, fields)]);
  return { ...a, ...(Object.fromEntries(shared) as FieldSet) };
}

/**
 * Labels or annotations of the live object that stay although the program does not state them, because somebody else
 * owns them: the revision that the Deployment controller counts, for one.
 */
export function kept(
  live: KubernetesObject,
  part: "labels" | "annotations",
  declared: readonly string[],
): Record<string, string> {
  const owns = (entry: ManagedFieldsEntry, key: string): boolean =>
    entry.fieldsV1["f:metadata"]?.[`f:${part}`]?.[`f:${key}`] !== undefined;
  const mine = (entry: ManagedFieldsEntry): boolean => isOurs(entry) || isTaken(entry, declared);
  return Object.fromEntries(
    Object.entries(live.metadata[part] ?? {}).filter(([key]) => {
      const owners = entriesOf(live).filter((entry) => owns(entry, key));
      return `f:${key}` !== LAST_APPLIED && !(owners.length > 0 && owners.every(mine));
    }),
  );
}
