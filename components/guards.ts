import * as pulumi from "@pulumi/pulumi";
import { ASSIGNED_BY_CLUSTER, CODER_PREDICTOR } from "./names.ts";

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

/**
 * Options of Service coder-predictor: {@link neverDeleted}, and what the cluster assigned is left alone.
 *
 * The latter stops a replacement planned from a clusterIP that the program states, or from one that adoption brought
 * into the state and the program does not state (both seen with provider 4.25.0). It has no say over names.
 *
 * @param hooks of {@link refuseDelete}; absent in unit tests of one component
 */
export function neverReplaced(
  hooks: pulumi.ResourceHookBinding | undefined,
): pulumi.CustomResourceOptions {
  return { ...neverDeleted(hooks), ignoreChanges: ASSIGNED_BY_CLUSTER };
}
