import fc from "fast-check";
import { ConfigError, parseStackConfig, type StackConfig } from "../../config.ts";
import { planStack, type StackPlan } from "../../stackPlan.ts";
import type { RawStack } from "../support/arbitraryConfig.ts";
import { smallStack } from "../unit/configFixtures.ts";
import { arbitraryCase, type Case, slips } from "./arbitraryStack.ts";
import { planViolations } from "./planOracle.ts";
import { checkRemedy } from "./remedies.ts";
import { configViolations } from "./ruleOracle.ts";
import { allKeys } from "./shapeOracle.ts";
import { changed, type Raw, related, type Violation } from "./violation.ts";

/** How many stacks were judged, and how. */
export interface StackCounts {
  generated: number;
  accepted: number;
  /** Refused, most of them by several lines. */
  refused: { configuration: number; plan: number };
  /** Stacks by each rule that they break. */
  readonly byReason: Record<string, number>;
}

/** `<key> = <value>: <wrong> (<allowed>); <what to do>`. */
const LINE = /^llm-serving:(?<key>\S+) = [^\n]+?: [^\n]+ \([^\n]+\); \S[^\n]+$/;

/**
 * Judges generated stacks twice, by the program and by the oracles, and compares verdicts and keys.
 *
 * @param seed reproduces a run
 * @param onProgress is told of every stack
 * @throws Error with the smallest stack on which the two disagree, and its seed
 */
export function fuzzStacks(
  count: number,
  seed: number,
  onProgress: (counts: StackCounts) => void = () => undefined,
): StackCounts {
  const counts: StackCounts = {
    generated: 0,
    accepted: 0,
    refused: { configuration: 0, plan: 0 },
    byReason: {},
  };
  const property = fc.property(arbitraryCase, (one) => {
    const { stage, violations } = judge(one);
    counts.generated += 1;
    if (stage === "accepted") counts.accepted += 1;
    else counts.refused[stage] += 1;
    for (const reason of new Set(violations.map((violation) => violation.reason))) {
      counts.byReason[reason] = (counts.byReason[reason] ?? 0) + 1;
    }
    onProgress(counts);
  });
  fc.assert(property, { numRuns: count, seed });
  return counts;
}

/**
 * Judges a small stack with each slip at each key, bounds of every number among them: chance alone meets
 * too few of these pairs.
 *
 * @returns how many stacks
 * @throws Error as {@link fuzzStacks} does
 */
export function sweepSlips(): number {
  const cases = allKeys.flatMap((key) => slips.map((slip) => [key, slip] as const));
  // Without this, an image's tag is refused whatever it says.
  const stack = changed(smallStack(), "registry.requireDigests", false);
  for (const [key, slip] of cases) {
    try {
      judge({ raw: changed(stack, key, slip) });
    } catch (cause) {
      throw new Error(`${key} = ${JSON.stringify(slip)}`, { cause });
    }
  }
  return cases.length;
}

/** A run in which one verdict hardly occurs has shown nothing about it. */
export function assertBalanced({ generated, accepted, refused }: StackCounts): void {
  for (const [verdict, times] of Object.entries({ accepted, ...refused })) {
    if (times < 0.15 * generated) {
      throw new Error(
        `only ${times} of ${generated} stacks: ${verdict}; the generator is lopsided`,
      );
    }
  }
}

/** The counts in two lines. */
export function describeStacks({ generated, accepted, refused, byReason }: StackCounts): string {
  const reasons = Object.entries(byReason)
    .sort(([, a], [, b]) => b - a)
    .map(([reason, times]) => `${reason} ${times}`);
  const { configuration, plan } = refused;
  return [
    `stacks: ${generated} generated, ${accepted} accepted, ${configuration + plan} refused (${configuration} by the configuration, ${plan} by the plan), 0 wrong verdicts`,
    `  by reason: ${reasons.join(", ")}`,
  ].join("\n");
}

interface Judgement {
  readonly stage: "accepted" | "configuration" | "plan";
  readonly violations: readonly Violation[];
}

/** @throws Error where the program and the oracles disagree */
function judge({ raw, live }: Case): Judgement {
  const wrongValues = configViolations(raw);
  const config = parsed(raw);
  if (Array.isArray(config)) {
    compareVerdicts(config, wrongValues);
    return { stage: "configuration", violations: wrongValues };
  }
  compareVerdicts([], wrongValues);
  // Every value is valid by the oracle too, so this is what the raw stack is.
  const stack = raw as unknown as RawStack;
  const violations = planViolations(stack, live);
  const plan = planStack(config, live && liveOf(live));
  compareVerdicts(plan.problems, violations);
  for (const line of plan.problems) checkRemedy(line, raw, live);
  if (violations.length > 0) return { stage: "plan", violations };
  compareAllocation(plan, stack);
  return { stage: "accepted", violations };
}

/** The configuration, or the lines that refuse it. Any other error is a crash, and ends the run. */
function parsed(raw: Raw): StackConfig | string[] {
  try {
    return parseStackConfig(raw, "dev");
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ line }) => line);
    throw error;
  }
}

function liveOf({ allocatable, held }: NonNullable<Case["live"]>) {
  return {
    allocatable: new Map(Object.entries(allocatable)),
    unmanaged: held.map((holder) => ({ owner: "default/notebook", ...holder })),
  };
}

/**
 * Checks that every violation is named by a line, and that every line is clear and names a violation.
 *
 * @param lines what the program says, none when it accepts
 * @param violations what an oracle says
 * @throws Error on the first difference
 */
export function compareVerdicts(lines: readonly string[], violations: readonly Violation[]): void {
  const named = lines.map((line) => {
    const key = LINE.exec(line)?.groups?.key;
    if (key === undefined) throw new Error(`not a clear line: ${line}`);
    return { line, key };
  });
  const missed = violations.filter(
    ({ keys }) => !named.some(({ key }) => keys.some((wanted) => related(key, wanted))),
  );
  if (missed.length > 0) throw new Error(`accepted although forbidden: ${JSON.stringify(missed)}`);
  const invented = named.filter(
    ({ key }) => !violations.some(({ keys }) => keys.some((wanted) => related(key, wanted))),
  );
  if (invented.length > 0) {
    throw new Error(`refused although allowed: ${invented.map(({ line }) => line).join("\n")}`);
  }
}

/** An accepted stack's allocation: the cards of its pods, node by node. */
function compareAllocation({ allocation }: StackPlan, stack: RawStack): void {
  const { clefServe, candleVllm, candleVllmNext, reasoning } = stack;
  const workloads = [{ ...clefServe, tensorParallel: 1 }, candleVllm, candleVllmNext, reasoning];
  for (const { name, cards } of stack.gpuNodes) {
    const used = workloads
      .filter(({ node = name }) => node === name)
      .reduce((sum, { replicas, tensorParallel }) => sum + replicas * tensorParallel, 0);
    const planned = Object.values(allocation[name]?.used ?? {}).reduce((a, b) => a + b, 0);
    if (planned !== used || allocation[name]?.free !== cards - used) {
      throw new Error(`allocation of ${name}: ${JSON.stringify(allocation[name])}, used ${used}`);
    }
  }
}
