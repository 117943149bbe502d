// Whether a stack can work on its cards, from the field notes and by trying out: pods are seated card by
// card, experts are cut rank by rank. Shares nothing with gpu/.
import type { RawStack } from "../support/arbitraryConfig.ts";
import { engineKeys, workloadKeys } from "./ruleOracle.ts";
import type { Violation } from "./violation.ts";

/** What a live cluster says of its cards, by node. */
export interface LiveCards {
  /** Allocatable cards of the nodes that exist. */
  readonly allocatable: Readonly<Record<string, number>>;
  /** Cards that pods of others hold. */
  readonly held: readonly { readonly node: string; readonly cards: number }[];
}

type Node = RawStack["gpuNodes"][number];
type EngineKey = (typeof engineKeys)[number];
type Engine = RawStack["candleVllm"] | RawStack["reasoning"];
type Figures = NonNullable<Engine["model"]["figures"]>;

/** Heads, KV heads, linear heads, expert width and GiB of weights, as the field notes list them. */
const table: Readonly<Record<string, Figures>> = {
  "qwen3-30b-a3b-q4_k_m": known(32, 4, 768, 17.35),
  "qwen3-30b-a3b-f16": known(32, 4, 768, 61e9 / 2 ** 30),
  "qwen3-coder-next-q4": { ...known(16, 2, 512, 45.1), linearHeads: 16 },
};

function known(heads: number, kvHeads: number, moeIntermediate: number, weightsGiB: number) {
  return { heads, kvHeads, moeIntermediate, weightsGiB, kvKiBPerToken: 0 };
}

/** Why a stack whose configuration is valid cannot work; nothing when it can. */
export function planViolations(stack: RawStack, live?: LiveCards): readonly Violation[] {
  return [
    ...workloadKeys.flatMap((key) => (hostMemoryFits(stack, key) ? [] : [hostMemory(key)])),
    ...engineKeys.flatMap((key) => engineViolations(stack, key)),
    ...stack.gpuNodes.flatMap((_, at) => cardViolations(stack, at, live)),
  ];
}

const hostMemory = (key: string): Violation => ({
  reason: "host memory",
  keys: [`${key}.hostMemoryGiB`],
});

function cardsOf(stack: RawStack, key: (typeof workloadKeys)[number]): number {
  return key === "clefServe" ? 1 : stack[key].tensorParallel;
}

/** Each rank's process takes 1 GiB, and several ranks share 4 GiB of /dev/shm. */
function hostMemoryFits(stack: RawStack, key: (typeof workloadKeys)[number]): boolean {
  const ranks = cardsOf(stack, key);
  return (stack[key].hostMemoryGiB ?? 16) >= ranks + (ranks > 1 ? 4 : 0);
}

function nodeOf(stack: RawStack, key: (typeof workloadKeys)[number]): Node | undefined {
  const { node } = stack[key];
  return stack.gpuNodes.find(({ name }) => node === undefined || node === name);
}

function engineViolations(stack: RawStack, key: EngineKey): Violation[] {
  const node = nodeOf(stack, key);
  return degreeProblems(stack[key], key === "reasoning", node).map((reason) => ({
    reason,
    keys: [`${key}.tensorParallel`],
  }));
}

/** Why an engine cannot run with its number of ranks on a node. */
function degreeProblems(engine: Engine, vllm: boolean, node: Node | undefined): string[] {
  const { tensorParallel: ranks, model, replicas } = engine;
  const figures = model.figures ?? table[model.name];
  if (figures === undefined || node === undefined) throw new Error("not a valid configuration");
  const { heads, kvHeads, linearHeads = ranks, moeIntermediate } = figures;
  const each = Array.from({ length: ranks }, (_, rank) => rank);
  const problems: string[] = [];
  if (ranks > node.cards) problems.push("cards of the node");
  if (heads % ranks > 0) problems.push("heads");
  if (kvHeads % ranks > 0 && ranks % kvHeads > 0) problems.push("KV heads");
  if (linearHeads % ranks > 0) problems.push("linear heads");
  const columns = each.map((rank) =>
    moeIntermediate === undefined
      ? { of: 1 / ranks, bits: model.isq === "q8_0" ? 8.5 : Q4K_BITS }
      : expertsOf(rank, ranks, moeIntermediate, model.isq),
  );
  if (columns.includes(undefined)) return [...problems, "experts"];
  if (replicas === 0 || problems.some((problem) => problem !== "cards of the node")) {
    return problems;
  }
  const heaviest = Math.max(
    ...columns.map((part) => weightsOnRank(engine, vllm, figures, part ?? { of: 0, bits: 0 })),
  );
  if (heaviest * 1.02 * 1.05 + 2.3 > node.memoryGiB) problems.push("memory");
  return problems;
}

interface Part {
  /** Share of the experts on this rank. */
  readonly of: number;
  /** Bits per weight when they are quantised while loading. */
  readonly bits: number;
}

/** Two thirds of the experts at Q4_K, the down projection at Q6_K. */
const Q4K_BITS = (4.5 + 4.5 + 6.5625) / 3;

/** One rank's part of the experts as candle-vllm's FusedMoeISQ cuts them; undefined: it stops at load. */
function expertsOf(
  rank: number,
  ranks: number,
  width: number,
  isq: string | undefined,
): Part | undefined {
  if (isq === undefined) return width % ranks === 0 ? { of: 1 / ranks, bits: 16 } : undefined;
  let block = isq === "q4k" ? 256 : 32;
  const even = Math.floor(width / ranks);
  const chunkOf = (size: number) => even + ((size - (even % size)) % size);
  if (ranks > 1 && even % block > 0 && (width - chunkOf(block)) % (ranks - 1) !== 0) block = 32;
  const bits = block === 256 ? Q4K_BITS : 8.5;
  if (even % block === 0) return width % ranks === 0 ? { of: 1 / ranks, bits } : undefined;
  const begin = rank * chunkOf(block);
  const taken = Math.min(chunkOf(block), width - begin);
  return taken > 0 && taken % block === 0 ? { of: taken / width, bits } : undefined;
}

/** GiB of weights on one rank, before what loading adds. */
function weightsOnRank(engine: Engine, vllm: boolean, figures: Figures, part: Part): number {
  const { model, tensorParallel: ranks } = engine;
  const { weightsGiB, moeIntermediate = 0 } = figures;
  if (vllm) return weightsGiB / ranks;
  if (model.source.gguf !== undefined) {
    // The down projection, a third, becomes Q8_0 where a rank's columns are no whole blocks.
    const cut = ranks > 1 && (moeIntermediate / ranks) % 256 > 0;
    return (weightsGiB / ranks) * (cut ? 2 / 3 + 8.5 / 4.5 / 3 : 1);
  }
  if (model.isq === undefined) return weightsGiB / ranks;
  const quantised = model.figures === undefined && model.name !== "qwen3-30b-a3b-f16";
  return weightsGiB * part.of * (part.bits / (quantised ? Q4K_BITS : 16));
}

function cardViolations(stack: RawStack, at: number, live: LiveCards | undefined): Violation[] {
  const node = stack.gpuNodes[at];
  if (node === undefined) return [];
  const here = workloadKeys.filter((key) => nodeOf(stack, key) === node);
  const pods = here.flatMap((key) => repeated(cardsOf(stack, key), stack[key].replicas));
  const surging = here.filter((key) => stack[key].rollout === "surge" && stack[key].replicas > 0);
  const extra = surging.map((key) => cardsOf(stack, key));
  const cards = freeCards(node, live);
  if (!seated(cards, pods)) return [{ reason: "cards", keys: [`gpuNodes[${at}].cards`] }];
  if (seated(cards, [...pods, ...extra])) return [];
  return [{ reason: "surge", keys: surging.map((key) => `${key}.rollout`) }];
}

/** One entry per card that the node really has and that nobody else holds. */
function freeCards({ name, cards }: Node, live: LiveCards | undefined): string[] {
  if (live === undefined) return repeated(name, cards);
  const free = repeated(name, Math.min(cards, live.allocatable[name] ?? 0));
  for (const holder of live.held) {
    if (holder.node === name) free.splice(0, holder.cards);
  }
  return free;
}

/** Seats pods one by one, card by card. */
function seated(cards: readonly string[], pods: readonly number[]): boolean {
  const free = [...cards];
  return pods.every((needed) => free.splice(0, needed).length === needed);
}

function repeated<T>(value: T, times: number): T[] {
  return Array.from({ length: times }, () => value);
}
