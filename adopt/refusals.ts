import type { KubernetesObject } from "./kubernetesObject.ts";
import { titleOf } from "./kubernetesObject.ts";
import { foreignManagers } from "./managers.ts";

/** An autoscaler as far as adoption looks at it. */
export interface Autoscaler {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: { readonly scaleTargetRef: { readonly kind: string; readonly name: string } };
}

/** What {@link refusals} judges a live object by. */
export interface RefusalFacts {
  readonly live: KubernetesObject;
  readonly stack: string;
  readonly autoscalers: readonly Autoscaler[];
  /** Managers that the operator gives up. */
  readonly takeOver: readonly string[];
}

/** Why an object cannot be adopted as it is, one reason and remedy a line; none when it can. */
export function refusals({ live, stack, autoscalers, takeOver }: RefusalFacts): string[] {
  const { metadata } = live;
  const owner = metadata.annotations?.["llm-serving/stack"];
  return [
    ...(metadata.ownerReferences ?? []).map(
      ({ kind, name }) =>
        `ownerReferences: it belongs to ${kind}/${name} and is deleted with it, past every guard of this program; ` +
        `remove ${kind}/${name} with --cascade=orphan, then plan again`,
    ),
    ...(metadata.deletionTimestamp === undefined
      ? []
      : ["deletionTimestamp: it is being deleted; wait until it is gone, then plan again"]),
    ...(owner === undefined || owner === stack
      ? []
      : [
          `annotation llm-serving/stack = ${owner}: it belongs to that stack, not to ${stack}; adopt it there, or ` +
            `remove the annotation once that stack is gone`,
        ]),
    ...autoscalers
      .filter(
        ({ spec }) => titleOf(live) === `${spec.scaleTargetRef.kind}/${spec.scaleTargetRef.name}`,
      )
      .map(
        ({ metadata: { name, namespace } }) =>
          `spec.replicas: HorizontalPodAutoscaler ${name} sets it, and the stack file would set it back at each ` +
          `update; remove it with \`kubectl delete hpa ${name} --namespace ${namespace}\`, then plan again`,
      ),
    ...foreignManagers(live, takeOver).map(
      (manager) =>
        `field manager ${manager}: another tool set fields here and would set them again; stop it, then declare it ` +
        `under takeOver in the file of declared differences`,
    ),
  ];
}
