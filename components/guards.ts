import * as pulumi from "@pulumi/pulumi";
import { ASSIGNED_BY_CLUSTER, CODER_PREDICTOR, NAMESPACE } from "./names.ts";

// What keeps coder-predictor's uid and ClusterIP. No guard is enough alone; docs/guards.md lists what each one stops,
// its hole, and the attack that showed it. Three more live elsewhere, because they are not options of a resource:
// literal names (names.ts), the explicit provider with a constant clusterIdentifier (stackProvider.ts), and the policy
// in the cluster (admissionGuard.ts), which alone still stands when the program has been stripped of all the others.

/** The name of {@link refuseDelete}'s hook. It stands in every stack's state: renaming it fails the delete of old objects. */
const HOOK = "coder-predictor-is-never-deleted";

/**
 * The hook that refuses to delete or replace what it is bound to, in a preview too.
 *
 * Stops: every delete and replacement that the engine plans, `destroy` included. The state remembers the hook: when
 * the program no longer registers it, the engine fails for want of it. Holes: armed only once an `up` has recorded it;
 * a program that registers another function under the same name disarms it.
 */
export function refuseDelete(): pulumi.ResourceHookBinding {
  const hook = new pulumi.ResourceHook(
    HOOK,
    ({ urn }) => {
      throw new Error(
        `${urn}: this update would delete or replace it, and with it Service ${CODER_PREDICTOR}, whose ClusterIP ` +
          `poimen-memory holds (only in-place updates are allowed); undo the edit that renames, moves or removes it`,
      );
    },
    { onDryRun: true },
  );
  return { beforeDelete: [hook] };
}

/**
 * Options of an object that must never go: Service coder-predictor, and the namespace it lives in.
 *
 * `protect` stops replace and delete in preview and `up`, and for an object that left the program the state's word
 * counts. Hole: dropped in the same commit as an edit that replaces the object. `retainOnDelete` keeps the live object
 * when the engine deletes it all the same. Hole: a rename leaves two objects.
 *
 * @param hooks of {@link refuseDelete}; absent in unit tests of one component
 */
export function neverDeleted(
  hooks: pulumi.ResourceHookBinding | undefined,
): Pick<pulumi.CustomResourceOptions, "protect" | "retainOnDelete" | "hooks"> {
  return { protect: true, retainOnDelete: true, ...(hooks === undefined ? {} : { hooks }) };
}

/** The inputs of a Service of which an edit is a replacement, as they must be. */
const FIXED: readonly (readonly [field: string, value: string | undefined])[] = [
  ["metadata.name", CODER_PREDICTOR],
  ["metadata.namespace", NAMESPACE],
  ["spec.clusterIP", undefined],
  ["spec.clusterIPs", undefined],
];

/**
 * Refuses inputs of coder-predictor that mean another Service or another address, before anything is planned: the
 * engine would call the first a replacement, and `ignoreChanges` would let the second pass in silence. An Output is
 * refused as well, since one that becomes unknown plans a replacement.
 * @throws pulumi.RunError naming the field
 */
function refuseOtherIdentity(props: unknown): void {
  for (const [field, wanted] of FIXED) {
    const found = field
      .split(".")
      .reduce<unknown>(
        (value, key) => (value as Record<string, unknown> | undefined)?.[key],
        props,
      );
    if (found === wanted) continue;
    const allowed =
      wanted === undefined ? "not stated: the cluster assigns it" : `only "${wanted}"`;
    throw new pulumi.RunError(
      `Service ${CODER_PREDICTOR}: ${field} = ${typeof found === "string" ? found : typeof found}: poimen-memory would ` +
        `lose the ClusterIP that it holds (${allowed}); undo this edit`,
    );
  }
}

/**
 * Options of Service coder-predictor: {@link neverDeleted}, {@link refuseOtherIdentity}, and what the cluster assigned
 * is left alone.
 *
 * The last stops a replacement planned from the clusterIP that adoption brought into the state and the program does
 * not state (seen with provider 4.25.0). Hole of both: the commit that edits the field can drop them too.
 *
 * @param hooks of {@link refuseDelete}; absent in unit tests of one component
 */
export function neverReplaced(
  hooks: pulumi.ResourceHookBinding | undefined,
): pulumi.CustomResourceOptions {
  return {
    ...neverDeleted(hooks),
    ignoreChanges: ASSIGNED_BY_CLUSTER,
    transformations: [
      ({ props }) => {
        refuseOtherIdentity(props);
        return undefined;
      },
    ],
  };
}
