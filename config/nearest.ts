/**
 * The candidate that takes the fewest edits. A common beginning counts for it: people shorten and
 * lengthen names at their end.
 *
 * @param word only its first 64 characters count, so that a long key cannot cost much
 * @param candidates at least one
 */
export function nearest(word: string, candidates: readonly string[]): string {
  const head = word.slice(0, 64);
  const ranked = candidates
    .map((candidate) => ({
      candidate,
      edits: editDistance(head, candidate) - commonStart(head, candidate),
    }))
    .sort((a, b) => a.edits - b.edits);
  return ranked[0]?.candidate ?? "";
}

/** Levenshtein distance in which a change of letter case costs 0.5. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (const [i, left] of Array.from(from).entries()) {
    const next = [i + 1];
    for (const [j, right] of Array.from(to).entries()) {
      const same = left === right ? 0 : left.toLowerCase() === right.toLowerCase() ? 0.5 : 1;
      next.push(Math.min((row[j] ?? 0) + same, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

function commonStart(left: string, right: string): number {
  let length = 0;
  while (length < left.length && left[length] === right[length]) length += 1;
  return length;
}
