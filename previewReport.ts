import * as pulumi from "@pulumi/pulumi";
import { handOver } from "./factsFile.ts";
import { cardMap } from "./gpu/cardMap.ts";
import type { Forecast } from "./gpu/forecast.ts";
import { routeText } from "./gpu/routeText.ts";
import { type PreviewArgs, type PreviewFacts, previewFacts } from "./previewFacts.ts";

/** What a preview prints beside the engine's own list of changes. */
export interface Report {
  /** Card map, verdict and what was not checked; several lines. */
  readonly summary: string;
  /** The offline warning alone, then all others, a line each: the CLI repeats the first line of every message. */
  readonly warnings: readonly string[];
}

/**
 * Prints the report of a preview, and hands its facts to a review that asked for them. An `up` prints it in its own
 * preview; the update itself prints nothing but problems, so that nothing is read twice.
 */
export async function printReport(args: PreviewArgs): Promise<void> {
  const facts = previewFacts(args);
  handOver(facts);
  const { summary, warnings } = previewReport(facts);
  // Awaited one by one, since the engine prints messages in the order of their arrival.
  await pulumi.log.info(summary);
  for (const warning of warnings) await pulumi.log.warn(warning);
}

const OFFLINE_WARNING =
  "LLM_SERVING_OFFLINE = 1: live checks skipped. Whether the cluster is the right one, which cards are free and what " +
  "exists already is not known; the plan counts the configured numbers, and alerts that exist show as deleted. " +
  "`up` refuses to run like this";

/** The report as text. Pure. */
export function previewReport(facts: PreviewFacts): Report {
  const offline = facts.server === undefined;
  return {
    summary: [
      offline ? "cards as planned" : "cards now and as planned",
      "",
      cardMap(facts.after, { before: facts.before }),
      "",
      `verdict: ${facts.verdict}`,
      ...(facts.forecast === undefined ? [] : forecastLines(facts.forecast)),
      ...(facts.parked.length === 0 ? [] : [`parked: ${facts.parked.join(", ")}`]),
      ...facts.notes,
    ].join("\n"),
    warnings: [...(offline ? [OFFLINE_WARNING] : []), ...block(facts.warnings)],
  };
}

/** Pods that restart, and what becomes of each route. */
function forecastLines({ restarts, routes }: Forecast): readonly string[] {
  return [
    `restarts: ${restarts.length === 0 ? "none" : restarts.join(", ")}`,
    `routes: ${routes.map((each) => `${each.route} ${routeText(each)}`).join("; ")}`,
  ];
}

/** Several lines as one message. */
function block(lines: readonly string[]): readonly string[] {
  return lines.length < 2 ? lines : [`${lines.length} points to look at\n  ${lines.join("\n  ")}`];
}
