import { cardMap } from "../gpu/cardMap.ts";
import { maskedText } from "./maskSecrets.ts";
import type { Review } from "./reviewOf.ts";
import { outageText } from "./reviewMarkdown.ts";

/** How a review is printed. */
export interface TerminalOptions {
  /** ANSI colours. */
  readonly colour: boolean;
}

/** The first page of a review for a terminal; the report has the rest. */
export function reviewTerminal(review: Review, { colour }: TerminalOptions): string {
  const { stack, verdict, coderService, blockers, engine, facts, pods, outages } = review;
  const bold = (text: string): string => (colour ? `\u001b[1m${text}\u001b[0m` : text);
  return [
    bold(`${stack}: ${verdict}`),
    ...blockers.map((line) => `  ${maskedText(line)}`),
    ...engine.errors.map((message) => `  ${maskedText(message)}`),
    "",
    ...(facts === undefined ? [] : [cardMap(facts.after, { before: facts.before, colour }), ""]),
    `  coder-predictor  ${coderService}`,
    ...outages.map((outage) => `  ${outage.route}  ${outageText(outage)}: ${outage.reason}`),
    ...pods.map(
      ({ workload, effect, before, after }) =>
        `  ${workload}  ${effect}: ${before} to ${after} pods`,
    ),
  ].join("\n");
}
