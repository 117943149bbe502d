// `make attacks KILLS=30`: every attack on a lab of its own, one row each, then the figures.
import { startLab, stopLab } from "../../lab/lab.ts";
import {
  type Attack,
  carriedOut,
  figures,
  heading,
  type Result,
  rowOf,
  survived,
} from "./attack.ts";
import { allAttacks } from "./attacks.ts";
import { Victim } from "./victim.ts";

const LAB = "attacks";

/** A count from the environment. @throws Error when it is none */
function kills(): number {
  const text = process.env.KILLS ?? "30";
  if (/^\d{1,4}$/.test(text)) return Number(text);
  throw new Error(`KILLS = ${text}: not a count (0..9999); set KILLS=30`);
}

async function main(): Promise<number> {
  // A part of a name, for a person who looks into one attack.
  const wanted = process.argv[2] ?? "";
  const attacks = allAttacks(kills()).filter(({ name }: Attack) => name.includes(wanted));
  await stopLab(LAB);
  const victim = await Victim.on(await startLab({ name: LAB, log: console.log }));
  try {
    console.log(heading);
    const results: Result[] = [];
    for (const attack of attacks) {
      const result = await carriedOut(attack, victim);
      results.push(result);
      console.log(rowOf(result));
    }
    console.log(`\n${figures(results)}`);
    return results.every(survived) ? 0 : 1;
  } finally {
    await victim.remove();
    await stopLab(LAB);
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
