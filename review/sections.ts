/** A part of a report that may be shortened. */
export interface Section {
  /** Lines that stay as long as anything of the section does, such as a heading. */
  readonly head: readonly string[];
  /** Lines of which the last ones go first. */
  readonly lines: readonly string[];
  /** What closes the section. */
  readonly tail?: readonly string[] | undefined;
}

/** Room for the line that says how much was left out. */
const NOTE_LENGTH = 80;

/**
 * Joins sections to at most `limit` characters. It cuts from the end: the last section loses its last lines, then all of
 * them, then the one before it, so that the sections have to stand in the order of their importance.
 * @param limit characters, 1000 or more; the first section is never cut
 */
export function joinSections(sections: readonly Section[], limit: number): string {
  const [first, ...rest] = sections;
  if (first === undefined) return "";
  let text = textOf(first);
  for (const [at, section] of rest.entries()) {
    const whole = `${text}\n${textOf(section)}`;
    const last = at === rest.length - 1;
    if (whole.length + (last ? 0 : NOTE_LENGTH) <= limit) {
      text = whole;
      continue;
    }
    const kept = linesWithin(section, limit - text.length - NOTE_LENGTH);
    const left = sum(rest.slice(at)) - kept.length;
    const cut = kept.length === 0 ? "" : `${textOf({ ...section, lines: kept })}\n`;
    return `${text}\n${cut}\n_${left} more lines left out to stay within ${limit} characters._\n`;
  }
  return text;
}

function textOf({ head, lines, tail = [] }: Section): string {
  return [...head, ...lines, ...tail, ""].join("\n");
}

function linesWithin(section: Section, room: number): readonly string[] {
  let left = room - textOf({ ...section, lines: [] }).length;
  const end = section.lines.findIndex((line) => (left -= line.length + 1) < 0);
  return end === -1 ? section.lines : section.lines.slice(0, end);
}

function sum(sections: readonly Section[]): number {
  return sections.reduce((count, { lines }) => count + lines.length, 0);
}
