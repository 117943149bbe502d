// `make transitions COUNT=300`: see transitions.ts.
import { interrupt } from "../../rehearse/interrupt.ts";
import { describe, transitions } from "./transitions.ts";

/** Labs at once: while the pods of one come and go, the others keep two processors busy. */
const LANES = 3;

/** A number from the environment. @throws Error when it is none */
function number(name: string, preset: string): number {
  const text = process.env[name] ?? preset;
  if (/^\d{1,9}$/.test(text) && Number(text) > 0) return Number(text);
  throw new Error(`${name} = ${text}: not a count (1..999999999); set ${name}=${preset}`);
}

try {
  const count = number("COUNT", "300");
  const seed = number("SEED", "1");
  const begun = performance.now();
  const counts = await transitions(count, LANES, seed, "transitions", interrupt(), (now) => {
    const minutes = ((performance.now() - begun) / 60_000).toFixed(1);
    const { applied, refused, stuck, misses } = now;
    console.error(
      `${minutes} min  ${applied} applied, ${refused} refused, ${stuck.length} stuck, ${misses.length} missed`,
    );
  });
  console.log(describe(counts));
  process.exitCode = counts.stuck.length + counts.misses.length === 0 ? 0 : 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
