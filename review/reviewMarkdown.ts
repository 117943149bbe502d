import { routeText } from "../gpu/routeText.ts";
import { changesSection, editsSection, rawSection } from "./changesMarkdown.ts";
import { cardsSection, type Pictures, podsSection, routesSection } from "./effectsMarkdown.ts";
import {
  policiesSection,
  standingWarningsSection,
  strangersSection,
  warningsSection,
} from "./findingsMarkdown.ts";
import { code, prose } from "./markdownText.ts";
import { type Operation, OPERATIONS } from "./resourceChange.ts";
import type { Review } from "./reviewOf.ts";
import { joinSections, type Section } from "./sections.ts";

/** How a report is written. */
export interface MarkdownOptions {
  /** Most characters, 1000 or more; default 60,000, since a comment on GitHub ends at 65,536. */
  readonly limit?: number | undefined;
  /** Where the pictures can be fetched; without it the report draws the card map as text alone. */
  readonly pictures?: Pictures | undefined;
}

const DEFAULT_LIMIT = 60_000;

/** First line of a stack's report: whoever posts it replaces the comment that begins with it. */
function commentKey(stack: string): string {
  return `<!-- llm-serving review of ${stack} -->`;
}

/** The report of a review: what matters most comes first, and goes last when it has to be cut. */
export function reviewMarkdown(review: Review, options: MarkdownOptions = {}): string {
  const { limit = DEFAULT_LIMIT } = options;
  const sections = [
    { head: [commentKey(review.stack), `## ${review.stack}: ${review.verdict}`], lines: [] },
    summarySection(review),
    factsSection(review),
    cardsSection(review, options.pictures),
    routesSection(review),
    podsSection(review),
    editsSection(review),
    policiesSection(review),
    warningsSection(review),
    strangersSection(review),
    standingWarningsSection(review),
    changesSection(review),
    rawSection(review),
  ].filter((section) => section !== undefined);
  return joinSections(sections, limit);
}

/** Why the update must not be applied, or what it does in one sentence. */
function summarySection(review: Review): Section {
  const { blockers } = review;
  return {
    head: [],
    lines: blockers.length > 0 ? blockers.map((line) => `- ${prose(line)}`) : [summaryOf(review)],
  };
}

/** One sentence on an update that may be applied. */
function summaryOf({ changes, pods, outages }: Review): string {
  if (changes.length === 0) return "The cluster is as the stack says. Nothing would be changed.";
  const counts = countsOf(changes.map(({ operation }) => operation));
  const parts = [
    ...["restarts", "ends", "starts", "scales"].flatMap((effect) => {
      const names = pods.filter((each) => each.effect === effect).map(({ workload }) => workload);
      return names.length === 0 ? [] : [`${names.join(", ")} ${verbOf(effect, names.length)}`];
    }),
    ...outages.map((outage) => `${code(outage.route)} ${routeText(outage)}`),
  ];
  return `${counts}. ${parts.length === 0 ? "No pod is touched." : `${parts.join("; ")}.`}`;
}

function verbOf(effect: string, subjects: number): string {
  return subjects === 1 ? effect : effect.slice(0, -1);
}

/** "2 to update, 1 to create". */
function countsOf(operations: readonly Operation[]): string {
  const counts = Map.groupBy(operations, (operation) => operation);
  return OPERATIONS.filter((operation) => counts.has(operation))
    .map((operation) => `${counts.get(operation)?.length ?? 0} to ${operation}`)
    .join(", ");
}

function factsSection(review: Review): Section {
  const rows = rowsOf(review).map(([name, value]) => `| ${name} | ${value} |`);
  return { head: ["| | |", "|---|---|"], lines: rows };
}

function rowsOf(review: Review): readonly (readonly [string, string])[] {
  const { coderService, facts, provenance, provider } = review;
  const { commit, dirty, base, baseCommit, cli } = provenance;
  const reached =
    facts === undefined
      ? "not looked at: the program stopped before"
      : facts.server === undefined
        ? `**not reached** (context ${code(facts.context)})`
        : `reached: context ${code(facts.context)} at ${code(facts.server)}`;
  return [
    ["coder-predictor", coderService === "BLOCKED" ? "**BLOCKED**" : coderService],
    ...(facts === undefined ? [] : [["cards", prose(facts.verdict)] as const]),
    ...(facts === undefined || facts.parked.length === 0
      ? []
      : [["parked", facts.parked.join(", ")] as const]),
    ["cluster", reached],
    [
      "looked at",
      `commit ${code(commit)}${dirty ? " with uncommitted changes" : ""}, compared with ${code(base)} (${code(baseCommit)})`,
    ],
    ["versions", `pulumi ${cli}${provider === undefined ? "" : `, kubernetes ${provider}`}`],
  ];
}
