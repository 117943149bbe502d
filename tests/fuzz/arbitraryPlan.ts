// Stacks whose only question is whether their cards are enough: every model fits, every value is right.
import fc from "fast-check";
import { parseStackConfig, type StackConfig } from "../../config.ts";
import { planStack } from "../../stackPlan.ts";
import type { Raw } from "./violation.ts";

/** What the plan says of a stack's cards, and so what the scheduler has to do. */
export type CardVerdict = "accepted" | "refused" | "refused for its surge";

/** A stack with the plan's verdict on it. */
export interface JudgedStack {
  readonly config: StackConfig;
  readonly verdict: CardVerdict;
}

/** A node of the lab. */
export interface Node {
  readonly name: string;
  readonly cards: number;
}

const image = `registry.example/llm/x@sha256:${"5".repeat(64)}`;
const model = {
  name: "small",
  source: { hub: "org/small" },
  figures: { heads: 32, kvHeads: 4, weightsGiB: 1, kvKiBPerToken: 24 },
};

function stacksOn(nodes: readonly Node[]): fc.Arbitrary<StackConfig> {
  return fc
    .shuffledSubarray([...nodes], { minLength: 1, maxLength: 2 })
    .chain((chosen) => {
      const workload = {
        replicas: fc.nat(3),
        image: fc.constant(image),
        node: fc.constantFrom(...chosen.map(({ name }) => name)),
        rollout: fc.constantFrom("recreate", "surge"),
        // The nodes of a lab have memory and processors for anything; a small wish keeps it so.
        cpu: fc.constant(1),
      };
      const engine = fc.record({
        ...workload,
        tensorParallel: fc.constantFrom(1, 1, 2, 4),
        model: fc.constant(model),
      });
      return fc.record({
        cluster: fc.constant({ context: "lab", lab: true }),
        gpuNodes: fc.constant(chosen.map((node) => ({ ...node, memoryGiB: 32 }))),
        clefServe: fc.record(workload),
        candleVllm: engine,
        candleVllmNext: engine,
        reasoning: engine,
        coderService: fc.constant({ backend: "candle-vllm" }),
      });
    })
    .map((raw: Raw) => parseStackConfig(raw, "fuzz"));
}

function verdictOf(config: StackConfig): CardVerdict {
  const { problems } = planStack(config);
  if (problems.length === 0) return "accepted";
  const onlySurge = problems.every((line) => line.includes(".rollout = "));
  return onlySurge ? "refused for its surge" : "refused";
}

/** A parked pod that no node could hold is refused too, and the scheduler never sees it. */
function isSeen(config: StackConfig): boolean {
  const { gpuNodes, candleVllm, candleVllmNext, reasoning } = config;
  return [candleVllm, candleVllmNext, reasoning].every(
    ({ replicas, tensorParallel, node }) =>
      replicas > 0 || tensorParallel <= (gpuNodes.find((n) => n.name === node)?.cards ?? 0),
  );
}

/**
 * Stacks on the nodes of one lane: half of them accepted, and of the refused ones two of five for the sake
 * of a surge alone.
 *
 * @throws Error when the generator yields too few of a verdict
 */
export function judgedStacks(count: number, nodes: readonly Node[], seed: number): JudgedStack[] {
  const sampled = fc
    .sample(stacksOn(nodes), { numRuns: 60 * count, seed })
    .filter(isSeen)
    .map((config) => ({ config, verdict: verdictOf(config) }));
  const surge = Math.round(count / 5);
  const refused = Math.ceil(count / 2) - surge;
  const quotas: readonly (readonly [CardVerdict, number])[] = [
    ["accepted", count - surge - refused],
    ["refused", refused],
    ["refused for its surge", surge],
  ];
  return quotas.flatMap(([verdict, wanted]) => {
    const found = sampled.filter((stack) => stack.verdict === verdict).slice(0, wanted);
    if (found.length < wanted) throw new Error(`only ${found.length} of ${wanted}: ${verdict}`);
    return found;
  });
}
