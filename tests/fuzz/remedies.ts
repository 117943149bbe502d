// Does what a line of the plan tells to do help? Asked of the oracles, not of the plan.
import type { RawStack } from "../support/arbitraryConfig.ts";
import { type LiveCards, planViolations } from "./planOracle.ts";
import { configViolations } from "./ruleOracle.ts";
import { changed, type Raw, type Violation } from "./violation.ts";

/**
 * Applies each alternative that a plan's line offers.
 *
 * @throws Error when one leaves the line's own rule broken, or breaks another
 */
export function checkRemedy(line: string, raw: Raw, live: LiveCards | undefined): void {
  const key = /^llm-serving:(\S+) = /.exec(line)?.[1] ?? "";
  const before = planViolations(raw as unknown as RawStack, live);
  for (const edits of alternatives(line, key)) {
    const after = edits.reduce((stack: Raw, [path, value]) => changed(stack, path, value), raw);
    const left = [
      ...configViolations(after),
      ...planViolations(after as unknown as RawStack, live).filter(
        (violation) => violation.keys.includes(key) || !isIn(violation, before),
      ),
    ].filter(({ reason }) => !consequences.has(reason) || !key.endsWith(".tensorParallel"));
    if (left.length > 0) {
      throw new Error(`${JSON.stringify(edits)} leaves ${JSON.stringify(left)} of: ${line}`);
    }
  }
}

/** Another number of cards a pod is right for the model, and may then not fit beside the others. */
const consequences = new Set(["cards", "surge", "host memory"]);

type Edit = readonly [path: string, value: string | number];

/** The edits after the last `;`, as `set <path> to <value> and set ... or set ...`, or `set it to 1 or 2`. */
function alternatives(line: string, key: string): Edit[][] {
  const remedy = line.slice(line.lastIndexOf("; ") + 2);
  const values = /^set it to ([\d, or]+?)( or more)?$/.exec(remedy)?.[1];
  if (values !== undefined) return (values.match(/\d+/g) ?? []).map((v) => [[key, Number(v)]]);
  if (!remedy.startsWith("set llm-serving:")) return [];
  return remedy
    .split(/,? or (?=set )|, (?=set )/)
    .map((one) => one.split(/ and (?=set )/).map(editOf));
}

function editOf(text: string): Edit {
  const [, path, value] = /^set llm-serving:(\S+) to (\S+)$/.exec(text) ?? [];
  if (path === undefined || value === undefined) throw new Error(`not an edit: ${text}`);
  return [path, /^\d+$/.test(value) ? Number(value) : value];
}

function isIn(violation: Violation, others: readonly Violation[]): boolean {
  return others.some(
    ({ reason, keys }) =>
      reason === violation.reason && keys.every((k) => violation.keys.includes(k)),
  );
}
