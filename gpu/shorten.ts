/** Most columns that a node's name gets in a card map, unless two names would look alike. */
const maxNameWidth = 20;

/** Cuts the middle out of a text that is too long: both ends of a name tell hosts apart. */
export function shorten(text: string, width: number): string {
  if (text.length <= width) return text;
  const tail = Math.floor((width - 1) / 2);
  return `${text.slice(0, width - 1 - tail)}…${text.slice(text.length - tail)}`;
}

/** Columns for the names of nodes: cut only as far as no two of them become equal. */
export function nameColumn(names: readonly string[]): number {
  const short = new Set(names.map((name) => shorten(name, maxNameWidth)));
  const full = Math.max(0, ...names.map((name) => name.length));
  return short.size === new Set(names).size ? Math.min(maxNameWidth, full) : full;
}
