import { isDeepStrictEqual } from "node:util";
import { CLEF_SERVE, SYSTEMONE_ROUTE } from "../components/names.ts";
import type { KubernetesObject } from "./kubernetesObject.ts";
import { deploymentSpec, serviceSpec } from "./kubernetesObject.ts";

/** Pods that adoption replaces, starts or ends, and what that means for clients. */
export interface Restart {
  readonly deployment: string;
  /** Pods now and after. */
  readonly pods: { readonly live: number; readonly wanted: number };
  /** Services in front of them, with the gateway's route where there is one. */
  readonly routes: readonly string[];
  /**
   * Seconds without a ready pod: the old pods' grace at most, then the cold start. 0 under surge. Undefined where the
   * workload is parked or starts from nothing.
   */
  readonly outageSeconds?: { readonly grace: number; readonly coldStart: number } | undefined;
}

/** Kubernetes' own default. */
const DEFAULT_GRACE_SECONDS = 30;

/**
 * What adoption does to the pods of one Deployment.
 * @param live the object as it is
 * @param after the object as it will be, defaults included
 * @param services every Service that the program renders
 * @param coldStartSeconds of the stack file
 * @returns undefined when every pod keeps running
 */
export function restart(
  live: KubernetesObject,
  after: KubernetesObject,
  services: readonly KubernetesObject[],
  coldStartSeconds: number,
): Restart | undefined {
  const [old, next] = [deploymentSpec(live), deploymentSpec(after)];
  if (old === undefined || next === undefined) return undefined;
  const sameTemplate = isDeepStrictEqual(old.template, next.template);
  const pods = { live: old.replicas, wanted: next.replicas };
  if (pods.live === pods.wanted && (sameTemplate || pods.live === 0)) return undefined;
  const replaces = !sameTemplate && pods.live > 0 && pods.wanted > 0;
  return {
    deployment: live.metadata.name,
    pods,
    routes: routesOf(next.template.metadata?.labels ?? {}, services),
    ...(replaces ? { outageSeconds: outage(old, next, coldStartSeconds) } : {}),
  };
}

type Spec = NonNullable<ReturnType<typeof deploymentSpec>>;

/** The strategy that counts is the new one: the same write brings it and the template. */
function outage(old: Spec, next: Spec, coldStart: number): Restart["outageSeconds"] {
  if (next.strategy?.type !== "Recreate") return { grace: 0, coldStart: 0 };
  const grace = old.template.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS;
  return { grace, coldStart };
}

function routesOf(
  labels: Readonly<Record<string, string>>,
  services: readonly KubernetesObject[],
): string[] {
  return services
    .filter((service) => {
      const selector = Object.entries(serviceSpec(service)?.selector ?? {});
      return selector.length > 0 && selector.every(([key, value]) => labels[key] === value);
    })
    .map(({ metadata: { name } }) => (name === CLEF_SERVE ? `${name} (${SYSTEMONE_ROUTE})` : name));
}
