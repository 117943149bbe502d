// `make fuzz`: generated stacks against the oracles, then generated plans against a real scheduler.
// COUNT stacks, PLANS plans; SEED reproduces a run.
import { describePlans, plansOnOwnLab } from "./plansOnScheduler.ts";
import { assertBalanced, describeStacks, fuzzStacks, sweepSlips } from "./stackFuzz.ts";

const count = number("COUNT", 10_000);
const plans = number("PLANS", 200);
const seed = number("SEED", Date.now() % 1_000_000_007);

console.log(`seed: ${seed} (SEED=${seed} repeats this run)`);
try {
  const stacks = fuzzStacks(count, seed, ({ generated }) => {
    if (generated % 500 === 0) progress(`stacks ${generated} of ${count}`);
  });
  assertBalanced(stacks);
  clearProgress();
  console.log(describeStacks(stacks));
  console.log(`slips: ${sweepSlips()} values at keys of a small stack, 0 wrong verdicts`);
  const counts = await plansOnOwnLab("test-fuzz", plans, seed, ({ applied }) => {
    progress(`plans ${applied} of ${plans}`);
  });
  clearProgress();
  console.log([describePlans(counts), ...counts.mismatches].join("\n"));
  if (counts.mismatches.length > 0) process.exitCode = 1;
} catch (error) {
  clearProgress();
  console.error(error);
  process.exitCode = 1;
}

function number(variable: string, fallback: number): number {
  const value = Number(process.env[variable] ?? fallback);
  if (Number.isInteger(value) && value > 0) return value;
  throw new Error(`${variable} = ${process.env[variable] ?? ""}: not a positive integer`);
}

/** One line that replaces itself; nothing where nobody watches. */
function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

function clearProgress(): void {
  progress("");
}
