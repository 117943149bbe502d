import { cardCount } from "../cluster/facts.ts";
import { strangerWarnings } from "../cluster/objects.ts";
import { NAMESPACE } from "../components/names.ts";
import { cardMap } from "../gpu/cardMap.ts";
import { routeText } from "../gpu/routeText.ts";
import { changesSection } from "./changesMarkdown.ts";
import { code, fenced, prose, valueText } from "./markdownText.ts";
import type { PodChange } from "./podChange.ts";
import { type Operation, OPERATIONS } from "./resourceChange.ts";
import type { Review } from "./reviewOf.ts";
import { joinSections, type Section } from "./sections.ts";
import { describePolicy, isMandatory } from "./verdict.ts";

/** How a report is written. */
export interface MarkdownOptions {
  /** Most characters, 1000 or more; default 60,000, since a comment on GitHub ends at 65,536. */
  readonly limit?: number | undefined;
  /** Where the pictures can be fetched; without it the report draws the card map as text alone. */
  readonly pictures?: { readonly light: string; readonly dark: string } | undefined;
}

const DEFAULT_LIMIT = 60_000;

/** Most names of files or fields in one line. */
const MOST_NAMES = 8;

/** First line of a stack's report: whoever posts it replaces the comment that begins with it. */
export function commentKey(stack: string): string {
  return `<!-- llm-serving review of ${stack} -->`;
}

/** The report of a review: what matters most comes first, and goes last when it has to be cut. */
export function reviewMarkdown(review: Review, options: MarkdownOptions = {}): string {
  const { limit = DEFAULT_LIMIT } = options;
  const sections = [
    { head: [commentKey(review.stack), `## ${review.stack}: ${review.verdict}`], lines: [] },
    summarySection(review),
    factsSection(review),
    cardsSection(review, options),
    routesSection(review),
    podsSection(review),
    editsSection(review),
    policiesSection(review),
    warningsSection(review),
    strangersSection(review),
    changesSection(review.changes),
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

function cardsSection({ facts }: Review, { pictures }: MarkdownOptions): Section | undefined {
  if (facts === undefined) return undefined;
  const map = cardMap(facts.after, { before: facts.before });
  return {
    head: [
      "### Cards",
      "",
      ...(pictures === undefined
        ? []
        : [
            `<picture><source media="(prefers-color-scheme: dark)" srcset="${pictures.dark}">` +
              `<img alt="Cards before and after" src="${pictures.light}"></picture>`,
            "",
          ]),
    ],
    lines: [fenced(map)],
  };
}

function routesSection({ outages, facts, changes }: Review): Section | undefined {
  const head = ["### Routes", ""];
  if (outages.length > 0) {
    return {
      head: [...head, "| route | what happens | why |", "|---|---|---|"],
      lines: outages.map(
        (outage) => `| ${code(outage.route)} | ${routeText(outage)} | ${prose(outage.reason)} |`,
      ),
    };
  }
  const adoption = changes.some(({ operation }) => operation === "adopt");
  if (facts === undefined || facts.forecast !== undefined || !adoption) return undefined;
  return { head, lines: ["Not forecast: `make adopt-plan` says what adoption restarts."] };
}

function podsSection({ pods }: Review): Section | undefined {
  if (pods.length === 0) return undefined;
  const restarts = pods.filter(({ effect }) => effect === "restarts");
  const others = pods.filter(({ effect }) => effect !== "restarts");
  return {
    head: ["### Pods", ""],
    lines: [
      ...restarts.map((pod) => `- **${pod.workload} restarts**${countText(pod)}: ${reasonOf(pod)}`),
      ...others.map((pod) => `- ${pod.workload} ${pod.effect}${countText(pod)}; no pod restarts`),
    ],
  };
}

function countText({ before, after }: PodChange): string {
  const pods = (count: number): string => `${count} pod${count === 1 ? "" : "s"}`;
  return before === after ? ` (${pods(after)})` : ` (${pods(before)} to ${after})`;
}

function reasonOf({ because }: PodChange): string {
  return because.length === 0
    ? "the Deployment is replaced"
    : `its template changes in ${listed(because)}`;
}

function editsSection({ edits, changes, provenance, stack }: Review): Section | undefined {
  const { base, changedFiles } = provenance;
  const title = [`### Edits since ${code(base)}`, ""];
  const rows = edits.map(
    ({ path, before, after }) => `| ${code(path)} | ${valueText(before)} | ${valueText(after)} |`,
  );
  const table = [`| ${code(`Pulumi.${stack}.yaml`)} | before | after |`, "|---|---|---|", ...rows];
  const files =
    changedFiles.length === 0 ? [] : [`Other files that differ: ${listed(changedFiles)}.`];
  if (rows.length > 0) return { head: [...title, ...files, ...files.map(() => "")], lines: table };
  if (files.length > 0) return { head: [...title, ...files], lines: [] };
  if (changes.length === 0) return undefined;
  const none = `Nothing was edited since ${code(base)}: these changes come from an earlier edit that was not applied yet.`;
  return { head: [...title, none], lines: [] };
}

/** Names as code, not too many of them. */
function listed(names: readonly string[]): string {
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : "";
  return `${names.slice(0, MOST_NAMES).map(code).join(", ")}${more}`;
}

/** What holds, and what advises; a mandatory policy that is violated stands at the top, among what blocks. */
function policiesSection({ policies, policyPacks }: Review): Section | undefined {
  const packs = Object.entries(policyPacks).map(([name, version]) => `${name} ${version}`);
  const held = packs.length > 0 && policies.length === 0 ? [`All hold (${packs.join(", ")}).`] : [];
  const advice = policies.filter((policy) => !isMandatory(policy)).map(describePolicy);
  const lines = [...held, ...listOf(advice)];
  return lines.length === 0 ? undefined : { head: ["### Policies", ""], lines };
}

function warningsSection({ warnings, facts, verdict }: Review): Section | undefined {
  // A section of its own tells of the objects that are not the stack's.
  const strangers = new Set(strangerWarnings(facts?.strangers ?? []));
  const lines = listOf(warnings.filter((line) => !strangers.has(line)));
  if (lines.length === 0) return undefined;
  if (verdict !== "no change") return { head: ["### To look at", ""], lines };
  // What stood there before and still stands is no news.
  const title = `<details><summary>To look at, as before (${lines.length})</summary>`;
  return { head: [title, ""], lines, tail: ["", "</details>"] };
}

/** Who holds cards of the stack's nodes, and what lies in its namespace, without being its own. */
function strangersSection({ facts }: Review): Section | undefined {
  const holders = (facts?.before ?? []).flatMap((node) =>
    node.holders
      .filter(({ unmanaged }) => unmanaged === true)
      .map(({ label, cards }) => `${label} holds ${cardCount(cards)} of ${node.name}`),
  );
  const objects = (facts?.strangers ?? []).map((name) => `${name} in namespace ${NAMESPACE}`);
  const lines = listOf([...holders, ...objects]);
  return lines.length === 0 ? undefined : { head: ["### Not this stack's", ""], lines };
}

function listOf(items: readonly string[]): readonly string[] {
  return items.map((item) => `- ${prose(item.replaceAll("\n", " "))}`);
}

function rawSection({ printed }: Review): Section | undefined {
  const text = printed.trim();
  if (text === "") return undefined;
  const [fence = "", ...block] = fenced(text).split("\n");
  return {
    head: ["<details><summary>What the CLI printed</summary>", "", fence],
    lines: block.slice(0, -1),
    tail: [fence.replace("text", ""), "", "</details>"],
  };
}
