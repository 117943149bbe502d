import type { Victim } from "./victim.ts";

/** Where an attack ended: refused before anything happened, refused when it was run, or without harm to the Service. */
export type Verdict = "refused in preview" | "refused in up" | "harmless";

/** One way to lose coder-predictor. */
export interface Attack {
  readonly name: string;
  /** Where it must end; an attack that gets further has found a hole. */
  readonly expected: Verdict;
  /** Runs it. @throws Error when something fails that should not, such as a refusal for another reason */
  run(victim: Victim): Promise<Verdict>;
}

/** What came of an attack. */
export interface Result {
  readonly attack: Attack;
  /** Undefined when it did not run to its end; see `failure`. */
  readonly verdict: Verdict | undefined;
  readonly uidKept: boolean;
  readonly clusterIpKept: boolean;
  /** Why it does not count as survived, beside a lost identity. */
  readonly failure: string | undefined;
  readonly seconds: number;
}

/** Whether the Service is the same and the attack ended where it must. */
export function survived({ attack, verdict, uidKept, clusterIpKept, failure }: Result): boolean {
  return uidKept && clusterIpKept && failure === undefined && verdict === attack.expected;
}

/** Carries out an attack, compares the Service before and after, and puts everything back. */
export async function carriedOut(attack: Attack, victim: Victim): Promise<Result> {
  const begin = performance.now();
  const before = await victim.identity();
  const attempt = await settled(() => attack.run(victim));
  const after = await victim.identity();
  const restored = await settled(() => victim.restore());
  const atLast = await victim.identity();
  return {
    attack,
    verdict: attempt.value,
    uidKept: before.uid === after.uid && before.uid === atLast.uid,
    clusterIpKept: before.clusterIP === after.clusterIP && before.clusterIP === atLast.clusterIP,
    failure: attempt.failure ?? restored.failure,
    seconds: (performance.now() - begin) / 1000,
  };
}

async function settled<T>(
  action: () => Promise<T>,
): Promise<{ readonly value?: T; readonly failure?: string }> {
  try {
    return { value: await action() };
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) };
  }
}

/** Text of the table's columns. */
export function rowOf(result: Result): string {
  const { attack, verdict, uidKept, clusterIpKept, failure, seconds } = result;
  const kept = (yes: boolean) => (yes ? "kept" : "LOST");
  const row = [
    attack.name.padEnd(68),
    (verdict ?? "not known").padEnd(18),
    kept(uidKept).padEnd(4),
    kept(clusterIpKept).padEnd(9),
    `${seconds.toFixed(0).padStart(3)} s`,
  ].join("  ");
  if (survived(result)) return row;
  return `${row}\n  FAILED: ${failure ?? `expected: ${attack.expected}`}`;
}

/** Heading of the table. */
export const heading = [
  "attack".padEnd(68),
  "where it ended".padEnd(18),
  "uid ",
  "ClusterIP",
  " time",
].join("  ");

/** The figures below the table. */
export function figures(results: readonly Result[]): string {
  const count = (wanted: Verdict) => results.filter(({ verdict }) => verdict === wanted).length;
  return [
    `tried ${results.length}`,
    `survived ${results.filter(survived).length}`,
    `refused in preview ${count("refused in preview")}`,
    `refused in up ${count("refused in up")}`,
    `harmless ${count("harmless")}`,
  ].join(", ");
}
