import { isDeepStrictEqual } from "node:util";
import type { AdoptionPlan, ObjectPlan } from "./adoptionPlan.ts";
import { differences } from "./difference.ts";
import type { KubernetesObject } from "./kubernetesObject.ts";
import { deploymentSpec, serviceSpec, titleOf } from "./kubernetesObject.ts";
import { foreignManagers, takenManagers } from "./managers.ts";
import { textTable } from "../review/textTable.ts";

/** uids of the pods of each live Deployment, by its name. */
export type Pods = Readonly<Record<string, readonly string[]>>;

/** Looks at the pods that adoption must leave alone, or may replace. */
export async function observe({ cluster, objects }: AdoptionPlan): Promise<Pods> {
  const names = objects.flatMap(({ live }) =>
    live?.kind === "Deployment" ? [live.metadata.name] : [],
  );
  const entries = names.map(async (name) => [name, await cluster.podUids(name)] as const);
  return Object.fromEntries(await Promise.all(entries));
}

/** What came of an adoption: a table, and what is not as planned. */
export interface Verification {
  readonly text: string;
  readonly problems: string[];
}

/**
 * Compares the cluster with the plan: uids and addresses, fields, field managers, pods. The update before it has waited for the rollouts.
 * @param before pods from before the first change
 */
export async function verify(plan: AdoptionPlan, before: Pods): Promise<Verification> {
  const { cluster, objects } = plan;
  const problems: string[] = [];
  const now = await cluster.read(objects.map(({ rendered }) => rendered.object));
  const pods = await observe(plan);
  const rows = objects.map((each) => {
    const live = now.find((object) => titleOf(object) === each.title);
    if (live === undefined) {
      problems.push(`${each.title}: does not exist`);
      return [each.title, "-", "-", "-"];
    }
    problems.push(...objectProblems(each, live, plan.declared.takeOver));
    const podState = podRow(each, before, pods);
    if (podState === UNPLANNED) problems.push(`${each.title}: pods restarted, and should not have`);
    return [each.title, uidState(each.live, live), address(live), podState];
  });
  return { text: textTable([["object", "uid", "ClusterIP", "pods"], ...rows]), problems };
}

function objectProblems(
  { title, live: old, after }: ObjectPlan,
  live: KubernetesObject,
  takeOver: readonly string[],
): string[] {
  if (old === undefined || after === undefined) return [];
  const managers = [...takenManagers(live, takeOver), ...foreignManagers(live, takeOver)];
  return [
    ...(live.metadata.uid === old.metadata.uid ? [] : [`${title}: has another uid`]),
    ...(address(live) === address(old) ? [] : [`${title}: has another ClusterIP`]),
    ...differences(after, live).map(({ path }) => `${title}: ${path} is not as planned`),
    ...managers.map((manager) => `${title}: field manager ${manager} is still there`),
  ];
}

const UNPLANNED = "restarted";

function podRow({ live, restart }: ObjectPlan, before: Pods, now: Pods): string {
  if (deploymentSpec(live) === undefined) return "-";
  const name = live?.metadata.name ?? "";
  if (isDeepStrictEqual(before[name], now[name])) return "kept";
  return restart === undefined ? UNPLANNED : "restarted as planned";
}

function uidState(old: KubernetesObject | undefined, live: KubernetesObject): string {
  if (old === undefined) return "created";
  return old.metadata.uid === live.metadata.uid ? "same" : "changed";
}

function address(object: KubernetesObject): string {
  return serviceSpec(object)?.clusterIP ?? "-";
}
