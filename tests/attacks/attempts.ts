import type { Outcome } from "../support/lab.ts";
import type { Verdict } from "./attack.ts";
import type { Victim } from "./victim.ts";

/** What each guard says when it fires. */
export const SAYS = {
  check: /Service coder-predictor: (metadata|spec)\.\w+ = /,
  hook: /would delete or replace it|hook .*not registered|has delete hooks registered, but/,
  // Either comes first, as the engine's work happens to be ordered.
  engine:
    /protected|unable to replace resource|would delete or replace it|has delete hooks registered, but|hook .*not registered/,
  admission: /ValidatingAdmissionPolicy 'llm-serving-delete-guard'/,
  any: /protected|unable to replace|would delete or replace|not registered|has delete hooks|ValidatingAdmissionPolicy '|Service coder-predictor: /,
} as const;

/** Everything that a command printed. */
export const textOf = ({ stdout, stderr }: Outcome): string => stdout + stderr;

/** The errors in it, or its end. */
export function errorsOf(outcome: Outcome): string {
  const lines = textOf(outcome).trim().split("\n");
  const errors = [
    ...new Set(lines.filter((line) => /error/i.test(line)).map((line) => line.trim())),
  ];
  return (errors.length > 0 ? errors : lines).slice(-5).join("\n    ");
}

/**
 * Makes a preview, and runs the command whatever the preview said, as somebody does who does not look.
 * @throws Error when a refusal was not for the expected reason, or the run does what the preview refused
 */
export async function attempted(
  preview: () => Promise<Outcome>,
  run: () => Promise<Outcome>,
  because: RegExp,
): Promise<Verdict> {
  const previewed = refusal(await preview(), because);
  const refused = refusal(await run(), because);
  if (previewed && !refused) throw new Error("the run does what the preview refuses");
  if (previewed) return "refused in preview";
  return refused ? "refused in up" : "harmless";
}

/** {@link attempted} with `preview` and `up`. */
export async function previewAndUp(
  victim: Victim,
  because: RegExp,
  env: Readonly<Record<string, string>> = {},
): Promise<Verdict> {
  return attempted(
    async () => victim.pulumi(["preview"], env),
    async () => victim.pulumi(["up", "--yes", "--skip-preview"], env),
    because,
  );
}

/** @throws Error when the command failed for another reason than the expected one */
export function refusal(outcome: Outcome, because: RegExp): boolean {
  if (outcome.code === 0) return false;
  if (because.test(textOf(outcome))) return true;
  throw new Error(`refused for another reason than ${because}: ${errorsOf(outcome)}`);
}

/** @throws Error when a command did not print what it must */
export function saying(outcome: Outcome, what: RegExp): void {
  if (!what.test(textOf(outcome))) throw new Error(`does not say ${what}: ${errorsOf(outcome)}`);
}
