// `make transitions COUNT=300`: see transitions.ts.
import { interrupt } from "../../lab/interrupt.ts";
import { describe, transitions } from "./transitions.ts";

/** Labs at once: most of the time their pods only come and go, and more than four would wait for two processors. */
const LANES = 4;

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
  let told = { stuck: 0, misses: 0 };
  const counts = await transitions(count, LANES, seed, "transitions", interrupt(), (now) => {
    const minutes = ((performance.now() - begun) / 60_000).toFixed(1);
    const { applied, refused, stuck, misses } = now;
    console.error(
      `${minutes} min  ${applied} applied, ${refused} refused, ${stuck.length} stuck, ${misses.length} missed`,
    );
    for (const news of [...stuck.slice(told.stuck), ...misses.slice(told.misses)])
      console.error(news);
    told = { stuck: stuck.length, misses: misses.length };
  });
  console.log(describe(counts));
  process.exitCode = counts.stuck.length + counts.misses.length === 0 ? 0 : 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
