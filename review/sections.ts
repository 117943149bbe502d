/** A part of a report that may be shortened. */
export interface Section {
  /** Lines that stay as long as anything of the section does, such as a heading. */
  readonly head: readonly string[];
  /** Lines of which the last ones go first. */
  readonly lines: readonly string[];
  /** What closes the section. */
  readonly tail?: readonly string[] | undefined;
}

/**
 * Joins sections to at most `limit` characters. It cuts from the end: the last section loses its last lines, then all of
 * them, then the one before it, so that the sections have to stand in the order of their importance.
 * @param limit characters, 1000 or more; the first section is never cut
 */
export function joinSections(sections: readonly Section[], limit: number): string {
  const whole = sections.map(textOf).join("\n");
  if (whole.length <= limit) return whole;
  const room = limit - noteOf(countOf(sections), limit).length;
  const kept: string[] = [];
  let used = 0;
  for (const [at, section] of sections.entries()) {
    const text = textOf(section);
    if (at === 0 || used + text.length + 1 <= room) {
      kept.push(text);
      used += text.length + 1;
      continue;
    }
    const lines = linesWithin(section, room - used - 1);
    if (lines.length > 0) kept.push(textOf({ ...section, lines }));
    const left = countOf(sections.slice(at)) - lines.length;
    return `${kept.join("\n")}${noteOf(left, limit)}`;
  }
  return kept.join("\n");
}

function noteOf(left: number, limit: number): string {
  return `\n_${left} more lines were left out, to stay within ${limit} characters._\n`;
}

function textOf({ head, lines, tail = [] }: Section): string {
  return [...head, ...lines, ...tail, ""].join("\n");
}

/** The first lines of a section for which, with its head and tail, there is room. */
function linesWithin(section: Section, room: number): readonly string[] {
  let left = room - textOf({ ...section, lines: [] }).length;
  const end = section.lines.findIndex((line) => (left -= line.length + 1) < 0);
  return end === -1 ? section.lines : section.lines.slice(0, end);
}

function countOf(sections: readonly Section[]): number {
  return sections.reduce((count, { lines }) => count + lines.length, 0);
}
