import type { RehearsalReport } from "../rehearse/report.ts";
import type { Interval, RouteFate } from "../rehearse/outages.ts";
import type { PodPhase, WorkloadTimeline } from "../rehearse/timeline.ts";
import { duration } from "./duration.ts";
import { outageText } from "./rehearsalMarkdown.ts";
import { escaped } from "./svg.ts";

const WIDTH = 960;
/** The chart's left and right edge: names stand before it, what a route's clients notice behind it. */
const LEFT = 200;
const RIGHT = 760;
const LANE = 24;
const BAR = 16;
/** Share of the chart before the edit, and after the last change. */
const MARGIN = 0.04;
/** Distances between two ticks to choose from, in seconds. */
const TICKS = [5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600];
const MOST_TICKS = 9;
/** Characters of the edit that fit a line. */
const LONGEST_EDIT = 125;

const CLASSES: Readonly<Record<PodPhase, string>> = {
  serving: "serving",
  draining: "draining",
  starting: "starting",
  "waiting for a card": "waiting",
};

/** As short as a narrow bar asks for; the legend says more. */
const WORDS: Readonly<Record<PodPhase, string>> = {
  ...{ serving: "serving", draining: "draining", starting: "starting" },
  "waiting for a card": "waiting",
};

const STYLE = `
    .paper { fill: #ffffff } .ink { fill: #1f2430 } .soft { fill: #5c6470 } .bold { font-weight: bold }
    .grid { stroke: #e3e7ed } .edit { stroke: #5c6470; stroke-dasharray: 3 3 }
    .serving { fill: #3d8b57 } .draining { fill: #a9d3b6 } .starting { fill: #e3a93b } .waiting { fill: #b3261e }
    .out { fill: #fbe4e2; stroke: #b3261e } .on { fill: #ffffff } .dark { fill: #1f2430 } .alarm { fill: #b3261e } .fine { fill: #2f7045 }
    @media (prefers-color-scheme: dark) {
      .paper { fill: #14171c } .ink { fill: #e6e9ee } .soft { fill: #a0a9b6 }
      .grid { stroke: #2a303a } .edit { stroke: #a0a9b6 }
      .serving { fill: #3f9a60 } .draining { fill: #24503a } .starting { fill: #c98f22 } .waiting { fill: #e5655c }
      .out { fill: #3f1b1a; stroke: #e5655c } .dark { fill: #f3f5f8 } .alarm { fill: #f0867f } .fine { fill: #6fc28d }
    }
  `;

/** A line of the picture: what it is called, its bars, and what is said of it. */
interface Lane {
  readonly name: string;
  readonly detail: string;
  /** Further down than its neighbours, since it begins a group. */
  readonly first: boolean;
  readonly bars: readonly {
    readonly from: number;
    readonly to: number;
    readonly style: string;
    readonly text: string;
  }[];
  readonly remark: string;
  readonly alarm: boolean;
}

/** What every pod and every route did, over real time; for light and for dark paper. */
export function timelineSvg(report: RehearsalReport): string {
  const { stack, base, commit, failures, endSeconds, limitSeconds } = report;
  const lanes = [
    ...report.workloads.flatMap(podLanes(endSeconds)),
    ...report.routes.flatMap(routeLanes(endSeconds, limitSeconds)),
  ];
  const placed = placedLanes(lanes, 84);
  const bottom = (placed.at(-1)?.y ?? 84) + LANE + 8;
  const height = bottom + 76;
  const margin = MARGIN * endSeconds;
  const x = (seconds: number): number => {
    const inside = Math.min(Math.max(seconds, -margin), endSeconds + margin);
    return LEFT + ((inside + margin) / (endSeconds + 2 * margin)) * (RIGHT - LEFT);
  };
  const verdict =
    failures.length === 0
      ? `<text class="fine bold" x="${WIDTH - 20}" y="32" text-anchor="end">passed</text>`
      : `<text class="alarm bold" x="${WIDTH - 20}" y="32" text-anchor="end">failed</text>`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title" font-family="DejaVu Sans, Verdana, sans-serif" font-size="12">`,
    `  <title id="title">${escaped(`Rehearsal of ${stack}: pods and routes after the edit`)}</title>`,
    `  <style>${STYLE}</style>`,
    `  <rect class="paper" width="${WIDTH}" height="${height}"/>`,
    `  <text class="ink bold" x="20" y="32" font-size="15">${escaped(`Rehearsal of ${stack}: ${base} (${commit}) to the working copy`)}</text>`,
    `  ${verdict}`,
    `  <text class="soft" x="20" y="54">${escaped(editText(report))}</text>`,
    ...axis(x, endSeconds, 70, bottom),
    ...placed.flatMap(({ lane, y }) => laneText(lane, y, x)),
    ...legend(bottom + 50),
    "</svg>",
    "",
  ].join("\n");
}

function editText({ edits }: RehearsalReport): string {
  const texts = edits.map(({ path, before, after }) => {
    const name = path.replace(/^llm-serving:/, "");
    return isPlain(before) && isPlain(after)
      ? `${name} ${String(before ?? "not set")} → ${String(after ?? "not set")}`
      : name;
  });
  const all = texts.join(" · ");
  return all.length > LONGEST_EDIT ? `${all.slice(0, LONGEST_EDIT)}…` : all;
}

function isPlain(value: unknown): value is string | number | boolean | undefined {
  return value === undefined || ["string", "number", "boolean"].includes(typeof value);
}

function podLanes(end: number): (workload: WorkloadTimeline) => Lane[] {
  return ({ workload, pods }) =>
    pods.map(({ cards, spans }, at) => ({
      name: at === 0 ? workload : "",
      detail: `${cards} ${cards === 1 ? "card" : "cards"}`,
      first: at === 0,
      bars: spans.map(({ phase, from, to }) => ({
        ...(phase === "serving" ? unbounded({ from, to }, end) : { from, to }),
        style: CLASSES[phase],
        text: phase === "serving" ? phase : `${WORDS[phase]} ${duration(to - from)}`,
      })),
      remark: "",
      alarm: false,
    }));
}

/** Routes that nobody could use before or after need no line. */
function routeLanes(
  end: number,
  limitSeconds: number | undefined,
): (fate: RouteFate, at: number) => Lane[] {
  return (fate, at) => {
    const { route, before, after, serving, gaps, outageSeconds } = fate;
    if (serving.length === 0) return [];
    const bars = [
      ...serving.map((each) => ({ ...unbounded(each, end), style: "serving", text: "serving" })),
      ...gaps.map(({ from, to }) => ({
        ...{ from, to, style: "out" },
        text: `no endpoint ${duration(to - from)}`,
      })),
    ];
    const text = outageText(fate);
    return [
      {
        ...{ name: route, detail: "route", first: at === 0, bars },
        remark: before && after ? (gaps.length === 0 ? "no outage" : `outage ${text}`) : text,
        alarm: limitSeconds !== undefined && outageSeconds > limitSeconds,
      },
    ];
  };
}

/** What served at the edit did so before, and what serves at the end goes on. */
function unbounded({ from, to }: Interval, end: number): Interval {
  return {
    from: from === 0 ? Number.NEGATIVE_INFINITY : from,
    to: to === end ? Number.POSITIVE_INFINITY : to,
  };
}

function placedLanes(lanes: readonly Lane[], top: number) {
  const placed: { readonly lane: Lane; readonly y: number }[] = [];
  let y = top;
  for (const lane of lanes) {
    if (lane.first && placed.length > 0) y += 10;
    placed.push({ lane, y });
    y += LANE;
  }
  return placed;
}

function laneText(lane: Lane, y: number, x: (seconds: number) => number): string[] {
  const middle = y + BAR / 2 + 4;
  return [
    `  <text class="ink${lane.name === "" ? "" : " bold"}" x="20" y="${middle}">${escaped(lane.name)}</text>`,
    `  <text class="soft" x="${LEFT - 12}" y="${middle}" text-anchor="end">${escaped(lane.detail)}</text>`,
    ...lane.bars.flatMap(({ from, to, style, text }) => {
      const [left, right] = [x(from), x(to)];
      const width = Math.max(1.5, right - left);
      const bar = `  <rect class="${style}" x="${fixed(left)}" y="${y}" width="${fixed(width)}" height="${BAR}"><title>${escaped(text)}</title></rect>`;
      // About 6.6 pixels a letter.
      const fits = text.length * 6.6 + 12 < width;
      const ink =
        style === "serving" || style === "waiting" ? "on" : style === "out" ? "alarm" : "dark";
      return fits
        ? [
            bar,
            `  <text class="${ink}" x="${fixed(left + 6)}" y="${middle}" font-size="11">${escaped(text)}</text>`,
          ]
        : [bar];
    }),
    `  <text class="${lane.alarm ? "alarm bold" : "ink"}" x="${RIGHT + 14}" y="${middle}">${escaped(lane.remark)}</text>`,
  ];
}

function axis(x: (seconds: number) => number, end: number, top: number, bottom: number): string[] {
  const step = TICKS.find((each) => end / each <= MOST_TICKS) ?? end;
  const ticks = Array.from({ length: Math.floor(end / step) + 1 }, (_, at) => at * step);
  return [
    ...ticks.map(
      (at) =>
        `  <line class="${at === 0 ? "edit" : "grid"}" x1="${fixed(x(at))}" y1="${top}" x2="${fixed(x(at))}" y2="${bottom}"/>`,
    ),
    ...ticks.map(
      (at) =>
        `  <text class="soft" x="${fixed(x(at))}" y="${bottom + 16}" text-anchor="middle" font-size="11">${at === 0 ? "edit" : clock(at)}</text>`,
    ),
  ];
}

/** "0:30", "4:00": minutes and seconds. */
function clock(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

function legend(y: number): string[] {
  const entries = [
    ["serving", "serving"],
    ["draining", "draining: deleted, still serving"],
    ["waiting", "waiting for a card"],
    ["starting", "starting"],
    ["out", "route without an endpoint"],
  ] as const;
  let left = 20;
  return entries.flatMap(([style, text]) => {
    const at = left;
    left += 40 + text.length * 6.1;
    return [
      `  <rect class="${style}" x="${fixed(at)}" y="${y}" width="12" height="12"/>`,
      `  <text class="soft" x="${fixed(at + 18)}" y="${y + 10}" font-size="11">${text}</text>`,
    ];
  });
}

function fixed(value: number): string {
  return String(Math.round(value * 10) / 10);
}
