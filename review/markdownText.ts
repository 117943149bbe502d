/** Longest value that a table shows, in characters; the raw diff has the rest. */
const LONGEST_VALUE = 160;

/** Most names of files or fields in one line. */
const MOST_NAMES = 8;

/** A text as code in one line of Markdown, in tables too. */
export function code(text: string): string {
  const line = clip(text.replaceAll(/\s*\n\s*/g, " ⏎ "));
  const fence = "`".repeat(longestRun(line) + 1);
  const pad = line.startsWith("`") || line.endsWith("`") ? " " : "";
  return `${fence}${pad}${line}${pad}${fence}`.replaceAll("|", "\\|");
}

/** A block of preformatted text whose fence nothing inside can close. */
export function fenced(text: string, language = "text"): string {
  const fence = "`".repeat(Math.max(3, longestRun(text) + 1));
  return `${fence}${language}\n${text}\n${fence}`;
}

/** A message as Markdown: what stands between backticks is code, and nothing else means anything. */
export function prose(message: string): string {
  return message
    .split(/(`[^`]+`)/)
    .map((part, at) => (at % 2 === 1 ? part : part.replaceAll(/[\\*_<>#[\]|~@`]/g, "\\$&")))
    .join("");
}

/** A value as a table shows it; the absent one as a dash. */
export function valueText(value: unknown): string {
  if (value === undefined) return "-";
  return code(typeof value === "string" ? value : JSON.stringify(value));
}

/** Names as code, not too many of them. */
export function listed(names: readonly string[]): string {
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : "";
  return `${names.slice(0, MOST_NAMES).map(code).join(", ")}${more}`;
}

function longestRun(text: string): number {
  return Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
}

function clip(text: string): string {
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;
}
