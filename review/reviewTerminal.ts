import { cardMap } from "../gpu/cardMap.ts";
import { routeText } from "../gpu/routeText.ts";
import type { Review } from "./reviewOf.ts";
import type { Verdict } from "./verdict.ts";

/** How a review is printed. */
export interface TerminalOptions {
  /** ANSI colours. */
  readonly colour: boolean;
  /** Columns; default and least as in {@link cardMap}. */
  readonly width?: number | undefined;
}

/** Below this the card map would not fit. */
const NARROWEST = 60;

/** ANSI: green for what interrupts nobody, yellow for what does, red for what must not be applied. */
const colours: Readonly<Record<Verdict, number>> = {
  "no change": 32,
  safe: 32,
  "interrupts a route": 33,
  "ends pods": 33,
  "restarts pods": 33,
  blocked: 31,
};

/** The first page of a review for a terminal; the report has the rest. */
export function reviewTerminal(
  review: Review,
  { colour, width: columns }: TerminalOptions,
): string {
  const { stack, verdict, coderService, blockers, facts, pods, outages } = review;
  const wide = columns === undefined ? undefined : Math.max(NARROWEST, columns);
  const map = { before: facts?.before, colour, width: wide };
  const title = `${stack}: ${verdict}`;
  const interrupted = new Set(outages.map(({ route }) => route));
  const rows = [
    ...(interrupted.has("coder-predictor") ? [] : [["coder-predictor", coderService]]),
    ...outages.map((outage) => [outage.route, `${routeText(outage)} (${outage.reason})`]),
    ...pods.map(({ workload, effect, before, after }) => [
      workload,
      before === after ? effect : `${effect}, ${before} to ${after} pods`,
    ]),
  ];
  const width = Math.max(...rows.map(([name = ""]) => name.length));
  return [
    colour ? `\u001b[1;${colours[verdict]}m${title}\u001b[0m` : title,
    ...blockers.map((line) => `  ${line}`),
    "",
    ...(facts === undefined ? [] : [cardMap(facts.after, map), ""]),
    ...rows.map(([name = "", what = ""]) => `  ${name.padEnd(width)}  ${what}`),
  ].join("\n");
}
