import { code, fenced, listed, valueText } from "./markdownText.ts";
import { type FieldChange, OPERATIONS } from "./resourceChange.ts";
import type { Review, ShownChange } from "./reviewOf.ts";
import type { Section } from "./sections.ts";

/** What somebody edited since the base. */
export function editsSection({ edits, changes, provenance, stack }: Review): Section | undefined {
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

/** Every resource that changes, by what happens to it, with each field before and after. */
export function changesSection({ changes, complete }: Review): Section | undefined {
  if (changes.length === 0) return undefined;
  const byOperation = Map.groupBy(changes, ({ operation }) => operation);
  const lines = OPERATIONS.flatMap((operation) => {
    const group = byOperation.get(operation) ?? [];
    const title = `#### ${operation} (${group.length})`;
    return group.length === 0 ? [] : [title, "", ...linesOf(group)];
  });
  const note = complete ? [] : ["The preview stopped: there may be more than these.", ""];
  return { head: ["### Changes", "", ...note], lines };
}

function linesOf(group: readonly ShownChange[]): readonly string[] {
  return group.flatMap((change) => {
    const { kind, name, replacedFor, fields } = change;
    const why =
      replacedFor.length === 0 ? "" : `, replaced for ${replacedFor.map(code).join(", ")}`;
    const title = `${kind} ${code(name)}${why}`;
    return fields.length === 0
      ? [`- ${title}`]
      : [title, "", "| field | before | after |", "|---|---|---|", ...rowsOf(fields), ""];
  });
}

function rowsOf(fields: readonly FieldChange[]): readonly string[] {
  return fields.map(({ path, before, after }) => {
    const [old, planned] = shortened(before, after);
    return `| ${code(path)} | ${valueText(old)} | ${valueText(planned)} |`;
  });
}

/** Two lists of words, such as a command's arguments, without the words at both ends that they share, but for one. */
function shortened(before: unknown, after: unknown): readonly [unknown, unknown] {
  if (!isWords(before) || !isWords(after)) return [before, after];
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const shown = (words: readonly string[]): string =>
    [
      ...(start > 1 ? ["…"] : []),
      ...words.slice(Math.max(0, start - 1), words.length - Math.max(0, end - 1)),
      ...(end > 1 ? ["…"] : []),
    ].join(" ");
  return [shown(before), shown(after)];
}

function isWords(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

/** What the CLI printed, folded away. */
export function rawSection({ printed }: Review): Section | undefined {
  const text = printed.trim();
  if (text === "") return undefined;
  const [fence = "", ...block] = fenced(text).split("\n");
  return {
    head: ["<details><summary>What the CLI printed</summary>", "", fence],
    lines: block.slice(0, -1),
    tail: [fence.replace("text", ""), "", "</details>"],
  };
}
