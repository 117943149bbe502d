/** Cards of a node that a pod holds for a while, in seconds; without an end to Infinity. */
export interface Holding {
  readonly cards: number;
  readonly from: number;
  readonly to: number;
}

/**
 * From when on a node has so many cards free for good, beside those that others hold or are known to take later.
 * @param earliest seconds; not before
 * @param capacity cards of the node
 * @returns `earliest` where that never happens: whatever the pod got its cards from, it is not among the holders
 */
export function freeFrom(
  earliest: number,
  cards: number,
  holders: readonly Holding[],
  capacity: number,
): number {
  const heldAt = (time: number): number =>
    holders.reduce((sum, { from, to, cards: held }) => {
      return from <= time && time < to ? sum + held : sum;
    }, 0);
  const fits = (time: number): boolean =>
    [time, ...holders.map(({ from }) => from).filter((from) => from > time)].every(
      (each) => heldAt(each) + cards <= capacity,
    );
  const ends = holders.map(({ to }) => to).filter((to) => to > earliest && to < Infinity);
  return [earliest, ...ends.toSorted((a, b) => a - b)].find(fits) ?? earliest;
}
