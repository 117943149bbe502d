import { type Cell, cellsOf, letters } from "../gpu/cardCells.ts";
import {
  holdersOf,
  type NodeCards,
  presentLabels,
  strangerLines,
  workloadLabels,
} from "../gpu/cardMap.ts";
import { type CardRow, cardRows } from "../gpu/cardRows.ts";
import { nameColumn, shorten } from "../gpu/shorten.ts";
import { type Colours, palettes, type Theme } from "./palette.ts";
import { CHARACTER, rect, svg, text } from "./svg.ts";

/** How a picture is drawn. */
export interface CardMapSvgOptions {
  /** The live state; with it each node that changes has two rows. */
  readonly before?: readonly NodeCards[] | undefined;
  readonly theme: Theme;
}

/** All in pixels. */
const WIDEST = 1000;
const MARGIN = 12;
const ROW = 30;
const ROW_GAP = 4;
const NODE_GAP = 14;
const LINE = 20;
const WIDEST_CARD = 134;
const TAG = 8 * CHARACTER;

/**
 * Draws who sits on which card, as {@link cardMap} does in the terminal: one row for each node and state, a pod of
 * several cards as one box, cards that do not exist behind a red line. What differs between before and after is
 * outlined. Where a name does not fit its box, letters with a legend stand for all of them.
 * @param after the planned state
 */
export function cardMapSvg(
  after: readonly NodeCards[],
  { before, theme }: CardMapSvgOptions,
): string {
  const rows = cardRows(after, before);
  const picture = new CardPicture(rows, palettes[theme]);
  return picture.draw();
}

/** One picture while it is drawn, from top to bottom. */
class CardPicture {
  readonly #rows: readonly CardRow[];
  readonly #colours: Colours;
  readonly #labels: readonly string[];
  /** Left edge of the cards. */
  readonly #left: number;
  readonly #card: number;
  readonly #width: number;
  readonly #named: boolean;
  readonly #nameColumns: number;
  readonly #parts: string[] = [];
  #top = MARGIN;

  constructor(rows: readonly CardRow[], colours: Colours) {
    this.#rows = rows;
    this.#colours = colours;
    this.#labels = workloadLabels(holdersOf(rows));
    this.#nameColumns = nameColumn(rows.map(({ name }) => name));
    const tagged = rows.some(({ tag }) => tag !== "");
    this.#left = MARGIN + (this.#nameColumns + 2) * CHARACTER + (tagged ? TAG : 0);
    const summary = Math.max(0, ...rows.map((row) => row.summary.length)) * CHARACTER;
    const slots = Math.max(1, ...rows.map((row) => row.slots.length));
    const room = WIDEST - this.#left - summary - 3 * MARGIN;
    this.#card = Math.floor(Math.min(WIDEST_CARD, Math.max(3 * CHARACTER, room / slots)));
    this.#width = this.#left + slots * this.#card + MARGIN + summary + MARGIN;
    this.#named = rows.every((row) => cellsOf(row).every((cell) => this.#fits(cell)));
  }

  draw(): string {
    for (const [at, row] of this.#rows.entries()) this.#row(row, this.#rows[at - 1]);
    const columns = Math.floor((this.#width - 2 * MARGIN) / CHARACTER);
    const strangers = strangerLines(this.#rows, columns);
    if (!this.#named || strangers.length > 0) this.#top += NODE_GAP;
    if (!this.#named) this.#legend();
    for (const line of strangers) this.#line(line);
    const title = "Cards of each node, and who sits on them";
    return svg(this.#width, this.#top + MARGIN, title, this.#colours, this.#parts);
  }

  #fits({ holder, span }: Cell): boolean {
    const columns = holder === undefined ? "idle".length : nameOf(holder).length;
    return (columns + 2) * CHARACTER <= span * this.#card - 4;
  }

  #row(row: CardRow, above: CardRow | undefined): void {
    const continued = above?.name === row.name;
    if (above !== undefined) this.#top += continued ? ROW_GAP : NODE_GAP;
    const middle = this.#top + ROW / 2;
    const { ink, muted, wrong } = this.#colours;
    const name = shorten(row.name, this.#nameColumns);
    if (!continued) this.#parts.push(text(name, MARGIN, middle, { fill: ink, bold: true }));
    if (row.tag !== "") this.#parts.push(text(row.tag, this.#left - TAG, middle, { fill: muted }));
    const other = row.tag === "after" && continued ? above : this.#after(row);
    for (const cell of cellsOf(row)) this.#cell(cell, row, other);
    if (row.slots.length > row.cards) {
      const x = this.#left + row.cards * this.#card;
      this.#parts.push(rect(x - 2, this.#top - 2, 3, ROW + 4, { fill: wrong }));
    }
    const fill = row.slots.length > row.cards ? wrong : muted;
    this.#parts.push(
      text(row.summary, this.#width - MARGIN, middle, { fill, anchor: "end" as const }),
    );
    this.#top += ROW;
  }

  /** The row that the same node has after the update, for a row before it. */
  #after(row: CardRow): CardRow | undefined {
    return row.tag === "before"
      ? this.#rows.find(({ name, tag }) => name === row.name && tag === "after")
      : undefined;
  }

  #cell(cell: Cell, row: CardRow, other: CardRow | undefined): void {
    const { holder, start, span } = cell;
    const [x, width] = [this.#left + start * this.#card + 2, span * this.#card - 4];
    const changed = other !== undefined && differs(cell, other);
    const { ink, muted, wrong } = this.#colours;
    const edge = start >= row.cards ? wrong : changed ? ink : undefined;
    const stroke = edge ?? (holder === undefined ? this.#colours.line : "none");
    this.#parts.push(
      rect(x, this.#top, width, ROW, {
        fill: this.#fillOf(holder),
        stroke,
        strokeWidth: edge === undefined ? 1 : 2,
        dashed: holder === undefined,
        radius: 4,
      }),
    );
    const label = holder === undefined ? (this.#named ? "idle" : "·") : this.#labelOf(holder);
    const fill = holder === undefined ? muted : this.#colours.onFill;
    this.#parts.push(
      text(label, x + width / 2, this.#top + ROW / 2, { fill, anchor: "middle" as const }),
    );
  }

  #labelOf(holder: NonNullable<Cell["holder"]>): string {
    if (this.#named) return nameOf(holder);
    return holder.unmanaged === true ? "#" : (letters[this.#labels.indexOf(holder.label)] ?? "?");
  }

  #fillOf(holder: Cell["holder"]): string {
    if (holder === undefined) return "none";
    if (holder.unmanaged === true) return "url(#unmanaged)";
    const { fills } = this.#colours;
    return fills[this.#labels.indexOf(holder.label) % fills.length] ?? "none";
  }

  /** What the letters stand for, as many to a line as there is room for. */
  #legend(): void {
    const holders = holdersOf(this.#rows);
    const strangers = holders.filter(({ unmanaged }) => unmanaged === true);
    const entries = [
      ...presentLabels(this.#labels, holders).map((label) => ({ label, cards: 1 })),
      ...strangers.slice(0, 1),
    ];
    let x = MARGIN;
    for (const holder of entries) {
      const name = shorten(nameOf(holder), 40);
      const width = (name.length + 6) * CHARACTER;
      if (x > MARGIN && x + width > this.#width - MARGIN) {
        x = MARGIN;
        this.#top += LINE;
      }
      const middle = this.#top + LINE / 2;
      const box = 2.5 * CHARACTER;
      const { ink, onFill } = this.#colours;
      this.#parts.push(
        rect(x, this.#top + 1, box, LINE - 4, { fill: this.#fillOf(holder), radius: 3 }),
        text(this.#labelOf(holder), x + box / 2, middle - 1, { fill: onFill, anchor: "middle" }),
        text(name, x + 3.5 * CHARACTER, middle, { fill: ink }),
      );
      x += width;
    }
    this.#top += LINE + ROW_GAP;
  }

  #line(line: string): void {
    this.#parts.push(text(line, MARGIN, this.#top + LINE / 2, { fill: this.#colours.ink }));
    this.#top += LINE;
  }
}

function nameOf({ label, unmanaged }: NonNullable<Cell["holder"]>): string {
  return unmanaged === true ? "unmanaged" : label;
}

/** Whether a cell's cards are another pod's in the other state. */
function differs({ holder, start, span }: Cell, other: CardRow): boolean {
  return Array.from({ length: span }, (_, at) => other.slots[start + at]).some(
    (slot) => slot?.label !== holder?.label || slot?.cards !== holder?.cards,
  );
}
