import type { CardHolder } from "./cardMap.ts";
import type { CardSlots } from "./cardSlots.ts";

/** The cards of one row. */
export interface CellRow {
  /** Cards that the node has. */
  readonly cards: number;
  /** Who sits on them; longer than `cards` when more is asked for. */
  readonly slots: CardSlots;
}

/** Colours the text of one cell. */
export type Paint = (holder: CardHolder | undefined, text: string) => string;

/** How cells are drawn: columns per card between separators, and the text of a holder. */
export interface CellStyle {
  readonly width: number;
  readonly text: (holder: CardHolder) => string;
  readonly idle: string;
  /** Most cards that a row has room for. */
  readonly most: number;
  readonly paint: Paint;
}

/** Names where every cell has room for its own, else letters in the widest cells that fit. */
export function cellStyle(
  rows: readonly CellRow[],
  labels: readonly string[],
  room: number,
  paint: Paint,
): CellStyle {
  const slots = Math.max(1, ...rows.map((row) => row.slots.length));
  const perCard = Math.floor((room - 1) / slots) - 1;
  const named = (holder: CardHolder) => (holder.unmanaged === true ? "unmanaged" : holder.label);
  const needed = rows.flatMap((row) =>
    cellsOf(row).map(({ holder, span }) =>
      holder === undefined ? 6 : Math.ceil((named(holder).length + 3) / span) - 1,
    ),
  );
  const widest = Math.max(6, ...needed);
  if (perCard >= widest) return { width: widest, text: named, idle: "idle", most: slots, paint };
  const code = (holder: CardHolder) =>
    holder.unmanaged === true ? "#" : (letters[labels.indexOf(holder.label)] ?? "?");
  const width = Math.min(3, Math.max(1, perCard));
  // Two columns for the mark that says how many cards were left out.
  const most = Math.max(1, Math.floor((room - 6) / (width + 1)));
  return { width, text: code, idle: "·", most: slots <= most ? slots : most, paint };
}

/** Stand for the workloads, in their order, where names do not fit. */
export const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** One cell of a row. */
export interface Cell {
  /** Who sits there; undefined for idle. */
  readonly holder: CardHolder | undefined;
  /** The first card, from 0, and how many. */
  readonly start: number;
  readonly span: number;
}

/** Neighbouring cards of one pod as one cell; a cell ends where the node's own cards end. */
export function cellsOf({ slots, cards }: CellRow): readonly Cell[] {
  const cells: { holder: CardHolder | undefined; start: number; span: number }[] = [];
  for (const [slot, holder] of slots.entries()) {
    const last = cells.at(-1);
    if (holder !== undefined && last?.holder === holder && slot !== cards) last.span += 1;
    else cells.push({ holder, start: slot, span: 1 });
  }
  return cells;
}

export function drawCells(row: CellRow, style: CellStyle): { plain: string; painted: string } {
  let plain = row.slots.length > 0 ? "│" : "";
  let painted = plain;
  const shown = { cards: row.cards, slots: row.slots.slice(0, style.most) };
  for (const { holder, start, span } of cellsOf(shown)) {
    const text = cellText(holder, span, style);
    const end = start + span === row.cards && row.slots.length > row.cards ? "║" : "│";
    plain += text + end;
    painted += style.paint(holder, text) + end;
  }
  const hidden = row.slots.length - shown.slots.length;
  const more = hidden > 0 ? `+${hidden}` : "";
  return { plain: plain + more, painted: painted + more };
}

function cellText(holder: CardHolder | undefined, span: number, style: CellStyle): string {
  const inner = span * (style.width + 1) - 1;
  if (holder === undefined) return centre(style.idle, inner, " ");
  const text = style.text(holder);
  const padded = inner >= text.length + 2 ? ` ${text} ` : text;
  return centre(padded, inner, span > 1 ? "─" : " ");
}

function centre(text: string, width: number, fill: string): string {
  const left = Math.floor((width - text.length) / 2);
  return text.padStart(text.length + Math.max(0, left), fill).padEnd(width, fill);
}
