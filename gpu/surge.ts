import type { DeploymentPlan, PodNow } from "./forecast.ts";

/** A Deployment as it is to become, with its config key for messages. */
export interface SurgePlan extends DeploymentPlan {
  readonly key: string;
}

/**
 * Why a surge must not be made now: its old pods keep their cards until the new ones are Ready, so that others who
 * take these cards in the same update would leave it stuck. The plan proves that the cards of the new shape are free;
 * this proves it for the way there, where the live pods are of another shape, number or node. One line each.
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
    const kept = changing.map((deployment) => ({
      deployment,
      cards: cardsKept(deployment, pods, node),
    }));
    const surging = kept.filter((each) => each.cards.old > 0);
    const asked =
      deployments
        .filter((each) => each.node === node && !surging.some((s) => s.deployment === each))
        .reduce((sum, each) => sum + each.replicas * each.cards, 0) +
      surging.reduce((sum, each) => sum + each.cards.atMost, 0);
    if (asked <= cards) return [];
    return surging.map(
      ({ deployment: { key, name }, cards: { old } }) =>
        `${key}.rollout = surge: ${name} keeps ${old} cards of ${node} until its new pods are Ready, and ${node} is ` +
        `asked for up to ${asked} cards meanwhile (at most ${cards}); set it to recreate, or make this edit in an ` +
        `update of its own before the others`,
    );
  });
}

/** Cards of a node that the old pods of a surging Deployment hold, and that it holds at most on its way. */
function cardsKept(
  { name, node: target, replicas, cards }: DeploymentPlan,
  pods: readonly PodNow[],
  node: string,
): { readonly old: number; readonly atMost: number } {
  const mine = pods.filter(
    (pod) => pod.workload === name && pod.node === node && pod.goneSeconds === undefined,
  );
  const old = mine.reduce((sum, pod) => sum + pod.cards, 0);
  if (target !== node) return { old, atMost: old };
  // One pod more than wanted, of either shape; more old ones than that are scaled down at once.
  const widest = Math.max(cards, ...mine.map((pod) => pod.cards));
  return { old, atMost: Math.max(mine.length, replicas + 1) * widest };
}
