import { surgePods } from "./budget.ts";
import type { DeploymentPlan, PodNow } from "./forecast.ts";

/** A Deployment as it is to become, with its config key for messages. */
export interface SurgePlan extends DeploymentPlan {
  readonly key: string;
}

/** A Deployment that surges while its old pods hold cards of a node. */
interface Surging {
  readonly deployment: SurgePlan;
  /** Cards of the node that its old pods hold. */
  readonly old: number;
  /** Cards of the node that it holds at most on its way. */
  readonly atMost: number;
}

/**
 * Why a surge must not be made now: its old pods keep their cards until the new ones are Ready, so that others who
 * take these cards in the same update would leave it stuck. The plan proves that the cards of the new shape are free;
 * this proves it for the way there, where the live pods are of another shape, number or node. One line a node, none
 * where the plan itself asks for too many cards with its surges: `poolProblem` says that.
 *
 * Whatever does not surge gives its cards up in any case, so that its planned cards count alone.
 *
 * @param available cards by node that this program may use
 */
export function surgeProblems(
  deployments: readonly SurgePlan[],
  pods: readonly PodNow[],
  available: ReadonlyMap<string, number>,
): readonly string[] {
  const changing = deployments.filter(
    ({ rollout, replicas, templateChanges }) =>
      rollout === "surge" && replicas > 0 && templateChanges,
  );
  return [...available].flatMap(([node, cards]) => {
    const here = deployments.filter((each) => each.node === node);
    if (sum(here, peakOf) > cards) return [];
    const surging = changing
      .map((deployment) => ({ deployment, ...cardsKept(deployment, pods, node) }))
      .filter(({ old }) => old > 0);
    const askedBy = (those: readonly Surging[]): number =>
      sum(those, ({ atMost }) => atMost) +
      sum(
        here.filter((each) => !those.some(({ deployment }) => deployment === each)),
        (each) => each.replicas * each.cards,
      );
    const asked = askedBy(surging);
    const [first] = surging;
    if (asked <= cards || first === undefined) return [];

    const oneLess = surging.filter(
      (each) => askedBy(surging.filter((other) => other !== each)) <= cards,
    );
    const remedies =
      oneLess.length > 0 ? oneLess.map(recreate) : [surging.map(recreate).join(" and ")];
    if (surging.length === 1 && fitsAlone(first.deployment, deployments, pods, available)) {
      remedies.push(`edit ${first.deployment.name} in an update of its own before the others`);
    }
    const keepers = surging.map(({ deployment, old }) => `${deployment.name} ${count(old)}`);
    return [
      `${first.deployment.key}.rollout = surge: ${node} is asked for up to ${count(asked)}, as old pods keep theirs ` +
        `until the new ones are Ready (${keepers.join(", ")}; at most ${cards}); ${remedies.join(" or ")}`,
    ];
  });
}

function recreate({ deployment }: Surging): string {
  return `set ${deployment.key}.rollout to recreate`;
}

/** Whether one surge has room on every node while all other pods stay as they are. */
function fitsAlone(
  alone: SurgePlan,
  deployments: readonly SurgePlan[],
  pods: readonly PodNow[],
  available: ReadonlyMap<string, number>,
): boolean {
  return [...available].every(([node, cards]) => {
    // The plan counts the surges of others too, whether they change or not.
    const others = deployments
      .filter((each) => each !== alone)
      .map(({ name, rollout }) => {
        const held = podsOf(name, pods, node).map((pod) => pod.cards);
        const surge = surgePods({ replicas: held.length, rollout }) * Math.max(0, ...held);
        return sum(held, (each) => each) + surge;
      });
    return sum(others, (each) => each) + cardsKept(alone, pods, node).atMost <= cards;
  });
}

/** Cards of a node that the old pods of a surging Deployment hold, and that it holds at most on its way. */
function cardsKept(
  { name, node: target, replicas, cards }: DeploymentPlan,
  pods: readonly PodNow[],
  node: string,
): { readonly old: number; readonly atMost: number } {
  const mine = podsOf(name, pods, node);
  const old = sum(mine, (pod) => pod.cards);
  if (target !== node) return { old, atMost: old };
  // One pod more than wanted, of either shape; more old ones than that are scaled down at once.
  const widest = Math.max(cards, ...mine.map((pod) => pod.cards));
  return { old, atMost: Math.max(mine.length, replicas + 1) * widest };
}

function podsOf(workload: string, pods: readonly PodNow[], node: string): readonly PodNow[] {
  return pods.filter(
    (pod) => pod.workload === workload && pod.node === node && pod.goneSeconds === undefined,
  );
}

/** Cards that the plan counts for a Deployment. */
function peakOf(deployment: DeploymentPlan): number {
  return (deployment.replicas + surgePods(deployment)) * deployment.cards;
}

function sum<T>(of: readonly T[], term: (each: T) => number): number {
  return of.reduce((total, each) => total + term(each), 0);
}

function count(cards: number): string {
  return cards === 1 ? "1 card" : `${cards} cards`;
}
