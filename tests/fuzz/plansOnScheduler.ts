// Plans on a real scheduler: it must place every pod of an accepted one, also while a surge doubles pods,
// and leave a pod Pending for want of cards in every refused one.
import { AppsV1Api, KubeConfig, type V1Deployment } from "@kubernetes/client-node";
import { type Lab, startLab, stopLab } from "../../lab/lab.ts";
import { kubectl } from "../support/lab.ts";
import { type CardVerdict, type JudgedStack, judgedStacks, type Node } from "./arbitraryPlan.ts";
import { PodWatch } from "./podWatch.ts";
import { type Manifest, renderedDeployments } from "./renderedDeployments.ts";
import { type Round, unplacedPods } from "./settled.ts";

/** How many plans were applied, and what became of them. */
export interface PlanCounts {
  applied: number;
  /** Accepted plans, all of whose pods were bound. */
  placed: number;
  /** Refused plans with a pod Pending for want of cards; those whose surge alone was too much apart. */
  pending: number;
  pendingInSurge: number;
  /** What the scheduler did otherwise than the plan said. */
  readonly mismatches: string[];
}

/** Plans run side by side, each lane with nodes and a namespace of its own. */
const LANES = 4;

/** The nodes of a lane: a small one, one like worker-1 and a large one. */
function nodesOf(lane: number): Node[] {
  return [lane + 1, 4, 8].map((cards, at) => ({ name: `lane-${lane}-worker-${at}`, cards }));
}

/** Options of a lab that {@link plansOnScheduler} can use. No pod ever becomes Ready, so that a surge lasts. */
export const laneLab = {
  nodes: Array.from({ length: LANES }, (_, lane) => nodesOf(lane)).flat(),
  coldStartSeconds: { "*": 3600, "clef-serve": 3600 },
  terminationSeconds: { "*": 0 },
};

/**
 * Applies generated plans to a lab, with the plan's refusal left out, and compares what the scheduler does.
 *
 * @param lab made with {@link laneLab}
 * @param seed reproduces the plans
 * @param onProgress is told of every plan
 */
export async function plansOnScheduler(
  lab: Lab,
  count: number,
  seed: number,
  onProgress: (counts: PlanCounts) => void = () => undefined,
): Promise<PlanCounts> {
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromFile(lab.kubeconfig);
  const counts: PlanCounts = {
    applied: 0,
    placed: 0,
    pending: 0,
    pendingInSurge: 0,
    mismatches: [],
  };
  const watch = new PodWatch(kubeConfig);
  await watch.start();
  try {
    const lanes = Array.from({ length: LANES }, async (_, lane) => {
      const share = Math.ceil((count - lane) / LANES);
      await kubectl(lab, "create", "namespace", `lane-${lane}`);
      const cluster = { kubeConfig, watch, namespace: `lane-${lane}`, nodes: nodesOf(lane) };
      await runLane(cluster, judgedStacks(share, cluster.nodes, seed + lane), (stack, unplaced) => {
        record(counts, stack, unplaced);
        onProgress(counts);
      });
    });
    await Promise.all(lanes);
  } finally {
    await watch.stop();
  }
  return counts;
}

/** Runs {@link plansOnScheduler} on a lab of its own, which it ends. */
export async function plansOnOwnLab(
  name: string,
  ...rest: [count: number, seed: number, onProgress: (counts: PlanCounts) => void]
): Promise<PlanCounts> {
  await stopLab(name);
  try {
    return await plansOnScheduler(await startLab({ name, ...laneLab }), ...rest);
  } finally {
    await stopLab(name);
  }
}

/** The counts in one line. */
export function describePlans({ applied, ...counts }: PlanCounts): string {
  const { placed, pending, pendingInSurge, mismatches } = counts;
  return `plans: ${applied} applied, ${placed} accepted and placed, ${pending + pendingInSurge} refused and Pending (${pendingInSurge} of them in the surge alone), ${mismatches.length} mismatches`;
}

interface Lane {
  readonly kubeConfig: KubeConfig;
  readonly watch: PodWatch;
  readonly namespace: string;
  readonly nodes: readonly Node[];
}

/** Reasons of the pods that the scheduler did not place, before and during a rollout. */
export type Unplaced = Readonly<Record<Round, readonly string[]>>;

/** What the scheduler made of a plan; undefined when something else than cards kept a pod Pending. */
export function verdictOf({ steady, rollout }: Unplaced): CardVerdict | undefined {
  const reasons = [...steady, ...rollout];
  if (!reasons.every((text) => text.includes("Insufficient nvidia.com/gpu"))) return undefined;
  if (reasons.length === 0) return "accepted";
  return steady.length > 0 ? "refused" : "refused for its surge";
}

function record(counts: PlanCounts, { config, verdict }: JudgedStack, unplaced: Unplaced): void {
  counts.applied += 1;
  if (verdictOf(unplaced) !== verdict) {
    const stack = JSON.stringify(config);
    counts.mismatches.push(`plan: ${verdict}; scheduler: ${JSON.stringify(unplaced)}; ${stack}`);
  } else if (verdict === "accepted") counts.placed += 1;
  else if (verdict === "refused") counts.pending += 1;
  else counts.pendingInSurge += 1;
}

async function runLane(
  lane: Lane,
  stacks: readonly JudgedStack[],
  onResult: (stack: JudgedStack, unplaced: Unplaced) => void,
): Promise<void> {
  for (const [at, stack] of stacks.entries()) {
    const deployments = await rendered(stack);
    onResult(stack, await applied(lane, `plan-${at}`, deployments));
  }
}

let rendering: Promise<unknown> = Promise.resolve();

/** Pulumi's mocks are one per process, so that stacks are rendered one after the other. */
function rendered({ config }: JudgedStack): Promise<Manifest[]> {
  const mine = rendering.then(() => renderedDeployments(config));
  rendering = mine.catch(() => undefined);
  return mine;
}

/** Applies a plan, then changes every template of one that placed all its pods, then removes it. */
async function applied(
  { kubeConfig, watch, namespace, nodes }: Lane,
  plan: string,
  deployments: readonly Manifest[],
): Promise<Unplaced> {
  const apps = kubeConfig.makeApiClient(AppsV1Api);
  const settled = (round: Round) =>
    watch.until(`${namespace} ${plan} ${round}`, (pods) =>
      unplacedPods(pods, { namespace, plan, round, nodes, deployments }),
    );
  const of = (round: Round) =>
    deployments.map((body) => stamped(body, namespace, { "fuzz/plan": plan, "fuzz/round": round }));
  try {
    await Promise.all(
      of("steady").map((body) => apps.createNamespacedDeployment({ namespace, body })),
    );
    const steady = await settled("steady");
    if (steady.length > 0) return { steady, rollout: [] };
    await Promise.all(
      of("rollout").map((body) =>
        apps.replaceNamespacedDeployment({ namespace, name: body.metadata.name, body }),
      ),
    );
    return { steady, rollout: await settled("rollout") };
  } finally {
    await apps.deleteCollectionNamespacedDeployment({ namespace, propagationPolicy: "Background" });
    await watch.until(`${namespace} ${plan} gone`, (pods) =>
      pods.some(({ metadata }) => metadata?.namespace === namespace) ? undefined : true,
    );
  }
}

/** The same Deployment in another namespace, its pods told apart by annotations. */
function stamped(
  { metadata, spec, ...rest }: Manifest,
  namespace: string,
  annotations: Readonly<Record<string, string>>,
): Manifest & V1Deployment {
  const pods = { ...spec.template.metadata, annotations };
  const template = { ...spec.template, metadata: pods };
  const namespaced = { ...metadata, namespace };
  const manifest: unknown = { ...rest, metadata: namespaced, spec: { ...spec, template } };
  return manifest as Manifest & V1Deployment;
}
