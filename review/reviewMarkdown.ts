import { cardCount } from "../cluster/facts.ts";
import { strangerWarnings } from "../cluster/objects.ts";
import { NAMESPACE } from "../components/names.ts";
import { cardMap } from "../gpu/cardMap.ts";
import { changesSection } from "./changesMarkdown.ts";
import { maskedText, maskedValue } from "./maskSecrets.ts";
import { code, fenced, prose, valueText } from "./markdownText.ts";
import type { PodChange } from "./podChange.ts";
import type { Review } from "./reviewOf.ts";
import type { RouteOutage } from "./routeOutage.ts";
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

/** Most names of edited files that are listed. */
const MOST_FILES = 12;

/** First line of a stack's report: whoever posts it replaces the comment that begins with it. */
export function commentKey(stack: string): string {
  return `<!-- llm-serving review of ${stack} -->`;
}

/** The report of a review: what matters most comes first, and goes last when it has to be cut. */
export function reviewMarkdown(review: Review, options: MarkdownOptions = {}): string {
  const { limit = DEFAULT_LIMIT } = options;
  const sections = [
    headSection(review),
    errorsSection(review),
    cardsSection(review, options),
    routesSection(review),
    podsSection(review),
    editsSection(review),
    policiesSection(review),
    listSection("To look at", warningsOf(review)),
    listSection("Not this stack's", strangersOf(review)),
    changesSection(review.changes),
    rawSection(review),
  ].filter((section) => section !== undefined);
  return joinSections(sections, limit);
}

function headSection(review: Review): Section {
  const { stack, verdict, coderService, blockers } = review;
  return {
    head: [
      commentKey(stack),
      `## ${stack}: ${verdict}`,
      "",
      ...(blockers.length > 0
        ? blockers.map((line) => `- ${prose(maskedText(line))}`)
        : [summaryOf(review)]),
      "",
      "| | |",
      "|---|---|",
      ...rowsOf(review, coderService).map(([name, value]) => `| ${name} | ${value} |`),
    ],
    lines: [],
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
    ...outages.map((outage) => `${code(outage.route)} ${outageText(outage)}`),
  ];
  return `${counts}. ${parts.length === 0 ? "No pod is touched." : `${parts.join("; ")}.`}`;
}

function verbOf(effect: string, subjects: number): string {
  return subjects === 1 ? effect : effect.slice(0, -1);
}

/** "2 to update, 1 to create". */
function countsOf(operations: readonly string[]): string {
  return [...Map.groupBy(operations, (operation) => operation)]
    .map(([operation, all]) => `${all.length} to ${operation}`)
    .join(", ");
}

function rowsOf(review: Review, coderService: string): readonly (readonly [string, string])[] {
  const { facts, provenance, provider } = review;
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

function errorsSection({ engine, printed }: Review): Section | undefined {
  if (engine.succeeded) return undefined;
  const said = engine.errors.length > 0 ? engine.errors : [printed.trim()];
  return {
    head: ["### Errors", ""],
    lines: said
      .flatMap((message) => maskedText(message).split("\n"))
      .filter((line) => line.trim() !== "")
      .map((line) => `- ${prose(line.trim())}`),
  };
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

function routesSection({ outages }: Review): Section | undefined {
  if (outages.length === 0) return undefined;
  return {
    head: ["### Routes", "", "| route | what happens | why |", "|---|---|---|"],
    lines: outages.map(
      (outage) => `| ${code(outage.route)} | ${outageText(outage)} | ${prose(outage.reason)} |`,
    ),
  };
}

/** "goes on after 240 s", "goes off", "is down for 240 s", "stays up". */
export function outageText({ effect, outageSeconds = 0 }: RouteOutage): string {
  if (effect === "off") return "goes off";
  if (effect === "on") return `goes on after about ${outageSeconds} s`;
  return outageSeconds === 0 ? "stays up" : `is down for about ${outageSeconds} s`;
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
    : `its template changes in ${because.map(code).join(", ")}`;
}

function editsSection({ edits, changes, provenance, stack }: Review): Section | undefined {
  const { base, changedFiles } = provenance;
  const lines = [
    ...edits.map(
      ({ path, before, after }) =>
        `| ${code(path)} | ${valueText(maskedValue(before, path, ""))} | ${valueText(maskedValue(after, path, ""))} |`,
    ),
  ];
  const notes = [
    ...(changedFiles.length === 0
      ? []
      : [`Other files that differ from ${code(base)}: ${fileList(changedFiles)}.`]),
    ...(edits.length === 0 && changedFiles.length === 0 && changes.length > 0
      ? [
          `Nothing was edited since ${code(base)}: these changes come from an earlier edit that was not applied yet.`,
        ]
      : []),
  ];
  if (lines.length === 0 && notes.length === 0) return undefined;
  const title = [`### Edits since ${code(base)}`, ""];
  return lines.length === 0
    ? { head: [...title, ...notes], lines: [] }
    : {
        head: [...title, ...notes, ""],
        lines: [`| ${code(`Pulumi.${stack}.yaml`)} | before | after |`, "|---|---|---|", ...lines],
      };
}

function fileList(files: readonly string[]): string {
  const more = files.length > MOST_FILES ? ` and ${files.length - MOST_FILES} more` : "";
  return `${files.slice(0, MOST_FILES).map(code).join(", ")}${more}`;
}

function policiesSection({ engine }: Review): Section | undefined {
  const packs = Object.entries(engine.policyPacks).map(([name, version]) => `${name} ${version}`);
  if (packs.length === 0 && engine.policies.length === 0) return undefined;
  const found = engine.policies.map((policy) => {
    const level = isMandatory(policy) ? "**mandatory**" : "advisory";
    return `- ${level}: ${prose(maskedText(describePolicy(policy)))}`;
  });
  return {
    head: ["### Policies", ""],
    lines: found.length > 0 ? found : [`All hold (${packs.join(", ")}).`],
  };
}

/** Who holds cards of the stack's nodes, and what lies in its namespace, without being its own. */
function strangersOf({ facts }: Review): readonly string[] {
  const holders = (facts?.before ?? []).flatMap((node) =>
    node.holders
      .filter(({ unmanaged }) => unmanaged === true)
      .map(({ label, cards }) => `${label} holds ${cardCount(cards)} of ${node.name}`),
  );
  return [
    ...holders,
    ...(facts?.strangers ?? []).map((name) => `${name} in namespace ${NAMESPACE}`),
  ];
}

/** The program's own points, and what else warned: the program's lines come back as one message of the engine. */
function warningsOf({ facts, engine }: Review): readonly string[] {
  // A section of its own tells of the objects that are not the stack's.
  const strangers = new Set(strangerWarnings(facts?.strangers ?? []));
  const own = [...(facts?.warnings ?? []), ...(facts?.notes ?? [])];
  const other = engine.warnings.filter(
    (message) => !own.some((line) => message.includes(line.trim())),
  );
  return [...own, ...other].filter((line) => !strangers.has(line)).map(maskedText);
}

function listSection(title: string, items: readonly string[]): Section | undefined {
  if (items.length === 0) return undefined;
  return {
    head: [`### ${title}`, ""],
    lines: items.map((item) => `- ${prose(item.replaceAll("\n", " "))}`),
  };
}

function rawSection({ printed }: Review): Section | undefined {
  const text = maskedText(printed).trim();
  if (text === "") return undefined;
  const [fence = "", ...block] = fenced(text).split("\n");
  return {
    head: ["<details><summary>What the CLI printed</summary>", "", fence],
    lines: block.slice(0, -1),
    tail: [fence.replace("text", ""), "", "</details>"],
  };
}
