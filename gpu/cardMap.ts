import { cellStyle, type CellStyle, drawCells, letters, type Paint } from "./cardCells.ts";
import { type CardRow, cardRows } from "./cardRows.ts";
import { nameColumn, shorten } from "./shorten.ts";
import type { LiveGpus } from "./pool.ts";
import type { GpuNode, Workload } from "./workload.ts";

/** One pod on a node. */
export interface CardHolder {
  /** Name of the workload; `namespace/pod` when unmanaged. */
  readonly label: string;
  /** Cards of the pod. */
  readonly cards: number;
  readonly unmanaged?: boolean | undefined;
}

/** The cards of one node and the pods that hold them. */
export interface NodeCards {
  readonly name: string;
  readonly cards: number;
  readonly holders: readonly CardHolder[];
}

/** How a card map is drawn. */
export interface CardMapOptions {
  /** The live state; with it each node that changes has two lines. */
  readonly before?: readonly NodeCards[] | undefined;
  /** ANSI colours, default false. */
  readonly colour?: boolean | undefined;
  /** Columns of the terminal, 60 or more, default 96. */
  readonly width?: number | undefined;
}

/** The planned state of the nodes, one holder per pod, with what others hold. */
export function plannedCards(
  workloads: readonly Workload[],
  nodes: readonly GpuNode[],
  live?: LiveGpus,
): readonly NodeCards[] {
  const byNode = Map.groupBy(workloads, (workload) => workload.node);
  const unmanaged = Map.groupBy(live?.unmanaged ?? [], (holder) => holder.node);
  return nodes.map(({ name, cards }) => ({
    name,
    cards,
    holders: [
      ...(byNode.get(name) ?? []).flatMap((workload) =>
        Array.from({ length: workload.replicas }, () => ({
          label: workload.name,
          cards: workload.tensorParallel,
        })),
      ),
      ...(unmanaged.get(name) ?? []).map(({ owner, cards: held }) => ({
        label: owner,
        cards: held,
        unmanaged: true,
      })),
    ],
  }));
}

/**
 * Draws who sits on which card, one line per node and state: a pod of several cards is one cell that
 * spans them, cards that do not exist stand behind a double line.
 *
 *     worker-1  before  │ clef-serve  │ candle-vllm │    idle     │    idle     │  2 of 4 used, 2 free
 *               after   │ clef-serve  │──────── candle-vllm ──────│    idle     │  3 of 4 used, 1 free
 *
 * Where the names do not fit the width, letters with a legend stand for them.
 *
 * @param after the planned state
 */
export function cardMap(after: readonly NodeCards[], options: CardMapOptions = {}): string {
  const { before, colour = false, width = 96 } = options;
  const rows = cardRows(after, before);
  const holders = holdersOf(rows);
  const labels = workloadLabels(holders);
  const nameWidth = nameColumn(rows.map(({ name }) => name));
  const tagWidth = longest(rows.map(({ tag }) => tag));
  const lead = nameWidth + 2 + (tagWidth > 0 ? tagWidth + 2 : 0);
  const room = width - lead - 2 - longest(rows.map(({ summary }) => summary));
  const paint: Paint = colour ? painter(labels) : (_, text) => text;
  const style = cellStyle(rows, labels, room, paint);
  const cells = rows.map((row) => drawCells(row, style));
  const cellsWidth = longest(cells.map(({ plain }) => plain));
  const lines = rows.map((row, index) => {
    const first = rows[index - 1]?.name !== row.name;
    const name = (first ? shorten(row.name, nameWidth) : "").padEnd(nameWidth + 2);
    const tag = tagWidth > 0 ? row.tag.padEnd(tagWidth + 2) : "";
    const drawn = cells[index] ?? { plain: "", painted: "" };
    return `${name}${tag}${drawn.painted}${" ".repeat(cellsWidth - drawn.plain.length)}  ${row.summary}`;
  });
  const others = strangerLines(rows, width);
  return [
    ...lines,
    ...legend(style, labels, holders),
    ...(others.length > 0 ? ["", ...others] : []),
  ]
    .map((line) => line.trimEnd())
    .join("\n");
}

function legend(
  style: CellStyle,
  labels: readonly string[],
  holders: readonly CardHolder[],
): readonly string[] {
  if (style.idle !== "·") return [];
  const entries = presentLabels(labels, holders).map((label) => {
    const letter = letters[labels.indexOf(label)] ?? "?";
    return `${style.paint({ label, cards: 1 }, ` ${letter} `)} ${label}`;
  });
  const stranger = holders.find((holder) => holder.unmanaged === true);
  if (stranger !== undefined) entries.push(`${style.paint(stranger, " # ")} unmanaged`);
  return ["", [...entries, " · idle"].join("  ")];
}

/** Everybody who sits on a card of some row, as often as on cards. */
export function holdersOf(rows: readonly CardRow[]): readonly CardHolder[] {
  return rows.flatMap(({ slots }) => slots.filter((slot) => slot !== undefined));
}

/** The stack's own, which have the same letter and colour in every map. */
const WORKLOADS = ["clef-serve", "candle-vllm", "candle-vllm-next", "reasoning"];

/** Workloads, the stack's own and any others among holders; their order gives each its letter and colour. */
export function workloadLabels(holders: readonly CardHolder[]): readonly string[] {
  const managed = holders.filter(({ unmanaged }) => unmanaged !== true);
  return [...new Set([...WORKLOADS, ...managed.map(({ label }) => label)])];
}

/** Those of the labels that sit on some card. */
export function presentLabels(
  labels: readonly string[],
  holders: readonly CardHolder[],
): readonly string[] {
  return labels.filter((label) => holders.some((holder) => holder.label === label));
}

/** One line of at most `width` columns for each pod that holds cards and is not managed here. */
export function strangerLines(rows: readonly CardRow[], width: number): readonly string[] {
  const lines = rows.flatMap(({ name, slots }) =>
    [...new Set(slots)].flatMap((holder) =>
      holder?.unmanaged === true
        ? [
            shorten(
              `unmanaged on ${name}: ${holder.label}, ${holder.cards} card${holder.cards === 1 ? "" : "s"}`,
              width,
            ),
          ]
        : [],
    ),
  );
  return [...new Set(lines)];
}

/** ANSI: black on a colour of its own for each workload, white on red for others, idle dimmed. */
function painter(labels: readonly string[]): Paint {
  const backgrounds = [42, 46, 45, 43, 44, 47];
  return (holder, text) => {
    if (holder === undefined) return `\u001b[2m${text}\u001b[0m`;
    const background = backgrounds[labels.indexOf(holder.label) % backgrounds.length] ?? 47;
    return `\u001b[${holder.unmanaged === true ? "97;41" : `30;${background}`}m${text}\u001b[0m`;
  };
}

function longest(texts: readonly string[]): number {
  return Math.max(0, ...texts.map((text) => text.length));
}
