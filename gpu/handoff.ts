import type { Forecast, PodNow } from "./forecast.ts";

/** A change as far as the coder's backend and the standing instruction are concerned. */
export interface HandoffArgs {
  /** The workload behind coder-predictor as the stack states it. */
  readonly backend: string;
  /** The workload that the live Service selects; undefined without a Service. */
  readonly selected: string | undefined;
  readonly acceptUnready: boolean;
  readonly pods: readonly PodNow[];
  /** Config key and planned replicas of each workload, by its name. */
  readonly workloads: ReadonlyMap<string, { readonly key: string; readonly replicas: number }>;
  /** What becomes of coder-predictor. */
  readonly route: Forecast["routes"][number];
}

const BACKEND = "llm-serving:coderService.backend";
const ACCEPT = "llm-serving:coderService.acceptUnready";

/**
 * Why the coder must not be handed over, or reasoning parked, in this change: coder-predictor is handed over only to
 * an engine that answers, and reasoning stays until the coder does (the standing instruction). One line each; with
 * `acceptUnready` none of these, but one where it is set without need.
 */
export function handoffProblems(args: HandoffArgs): readonly string[] {
  const problems = [...unreadyBackend(args), ...standingInstruction(args)];
  if (!args.acceptUnready) return problems;
  const parked = (args.workloads.get(args.backend)?.replicas ?? 0) === 0;
  const answers = isReady(args.backend, args.pods) && !parked && args.route.seconds === 0;
  if (problems.length > 0 || !answers) return [];
  return [
    `${ACCEPT} = true: not needed, as ${args.backend} has a Ready pod and keeps it (only where coder-predictor may ` +
      "be without one); remove it",
  ];
}

function unreadyBackend({ backend, selected, pods, workloads, route }: HandoffArgs): string[] {
  if (selected === undefined || selected === backend) return [];
  const { key = backend, replicas = 0 } = workloads.get(backend) ?? {};
  const refused = (why: string, remedy: string): string[] => [
    `${BACKEND} = ${backend}: ${why}, so coder-predictor would be without a serving endpoint ` +
      `(only an engine with a Ready pod that this update leaves alone); ${remedy}, or accept it with ${ACCEPT}: true`,
  ];
  if (replicas === 0) {
    return refused(
      `${key}.replicas = 0`,
      `set ${key}.replicas to 1 in an update of its own, then hand over`,
    );
  }
  if (!isReady(backend, pods)) {
    return refused(
      `no pod of ${backend} is Ready`,
      `leave the backend at ${selected} until \`up\` has brought ${backend} to Ready, then hand over`,
    );
  }
  if (route.seconds === 0) return [];
  return refused(
    `this update restarts ${backend}`,
    `make the edits that restart it in an update of their own, then hand over`,
  );
}

/** @see the original change: keep the vLLM pods healthy until candle-vllm answers */
function standingInstruction({ backend, pods, workloads }: HandoffArgs): string[] {
  const { key, replicas } = workloads.get("reasoning") ?? { key: "reasoning", replicas: 0 };
  const runs = pods.some((pod) => pod.workload === "reasoning" && pod.goneSeconds === undefined);
  if (!runs || replicas > 0 || isReady(backend, pods)) return [];
  return [
    `${key}.replicas = 0: reasoning stays until the coder answers, and no pod of ${backend} is Ready ` +
      `(1 or more until then); park reasoning once ${backend} is Ready, or accept it with ${ACCEPT}: true`,
  ];
}

function isReady(workload: string, pods: readonly PodNow[]): boolean {
  return pods.some(
    (pod) => pod.workload === workload && pod.readySeconds <= 0 && pod.goneSeconds === undefined,
  );
}
