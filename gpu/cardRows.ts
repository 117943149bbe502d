import type { CellRow } from "./cardCells.ts";
import type { NodeCards } from "./cardMap.ts";
import { type CardSlots, seatPods } from "./cardSlots.ts";

/** What a card map draws of one node in one state. */
export interface CardRow extends CellRow {
  /** Name of the node. */
  readonly name: string;
  /** Which state this is; "" where there is only one, "same" where the update changes nothing here. */
  readonly tag: "" | "before" | "after" | "same";
  /** "3 of 4 used, 1 free". */
  readonly summary: string;
}

/**
 * The rows of a card map, for the terminal as for the picture: a node that changes has one before and one after.
 * @param after the planned state
 * @param before the live state
 */
export function cardRows(
  after: readonly NodeCards[],
  before?: readonly NodeCards[],
): readonly CardRow[] {
  if (before === undefined) return after.map((node) => toRow(node, "", seatPods(node)));
  const earlier = new Map(before.map((node) => [node.name, node]));
  const planned = new Set(after.map(({ name }) => name));
  const gone = before.filter(({ name }) => !planned.has(name));
  return [
    ...after.flatMap((node) => {
      const was = earlier.get(node.name);
      if (was === undefined) return [toRow(node, "after", seatPods(node))];
      const seats = seatPods(was);
      const rows = [toRow(was, "before", seats), toRow(node, "after", seatPods(node, seats))];
      return sameSeats(rows) ? [toRow(node, "same", seats)] : rows;
    }),
    ...gone.map((node) => toRow(node, "before", seatPods(node))),
  ];
}

function toRow({ name, cards }: NodeCards, tag: CardRow["tag"], slots: CardSlots): CardRow {
  const used = slots.filter((slot) => slot !== undefined).length;
  const rest = cards - used;
  const verdict = rest === 0 ? "full" : rest > 0 ? `${rest} free` : `${-rest} too many`;
  return { name, tag, cards, slots, summary: `${used} of ${cards} used, ${verdict}` };
}

function sameSeats(rows: readonly CardRow[]): boolean {
  const text = ({ cards, slots }: CardRow) =>
    JSON.stringify([cards, slots.map((slot) => [slot?.label, slot?.cards])]);
  return new Set(rows.map(text)).size === 1;
}
