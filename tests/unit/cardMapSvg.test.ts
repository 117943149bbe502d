import { expect } from "chai";
import fc from "fast-check";
import type { CardHolder, NodeCards } from "../../gpu/cardMap.ts";
import { cardMapSvg } from "../../review/cardMapSvg.ts";
import { palettes, type Theme } from "../../review/palette.ts";

const themes: readonly Theme[] = ["light", "dark"];

/** A box in a picture; `content` is the text of a text. */
interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  readonly content?: string;
}

/** Half of the height of a line of 13 px, its descenders included. */
const HALF_LINE = 8;

const shifts: Readonly<Record<string, number>> = { start: 0, middle: 0.5, end: 1 };

function attribute(tag: string, name: string): string {
  return new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? "";
}

/** Every text of a picture, where it is drawn: its stated length holds whatever the font. */
function textsOf(svg: string): readonly Box[] {
  return [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([tag, content = ""]) => {
    const [x, y, length] = ["x", "y", "textLength"].map((name) => Number(attribute(tag, name)));
    const left = (x ?? NaN) - (length ?? NaN) * (shifts[attribute(tag, "text-anchor")] ?? NaN);
    const middle = y ?? NaN;
    return {
      ...{ left, right: left + (length ?? NaN), content },
      ...{ top: middle - HALF_LINE, bottom: middle + HALF_LINE },
    };
  });
}

/** The boxes of cards: those that are rounded. */
function cellsOf(svg: string): readonly Box[] {
  return [...svg.matchAll(/<rect[^>]* rx="4"[^>]*>/g)].map(([tag]) => {
    const [x, y, width, height] = ["x", "y", "width", "height"].map((name) =>
      Number(attribute(tag, name)),
    );
    return {
      left: x ?? NaN,
      right: (x ?? NaN) + (width ?? NaN),
      top: y ?? NaN,
      bottom: (y ?? NaN) + (height ?? NaN),
    };
  });
}

function overlap(a: Box, b: Box): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

function inside(a: Box, b: Box): boolean {
  return a.left >= b.left && a.right <= b.right && a.top >= b.top && a.bottom <= b.bottom;
}

/** What is wrong with a picture's texts, in words; empty when all can be read. */
function faults(svg: string): readonly string[] {
  const texts = textsOf(svg);
  const cells = cellsOf(svg);
  const [, , width = NaN, height = NaN] = attribute(svg, "viewBox").split(" ").map(Number);
  const page = { left: 0, top: 0, right: width, bottom: height };
  return texts.flatMap((text, at) => [
    ...(inside(text, page) ? [] : [`"${text.content ?? ""}" leaves the picture`]),
    ...texts
      .slice(at + 1)
      .filter((other) => overlap(text, other))
      .map((other) => `"${text.content ?? ""}" lies on "${other.content ?? ""}"`),
    ...cells
      .filter((cell) => overlap(text, cell) && !inside(text, cell))
      .map(() => `"${text.content ?? ""}" leaves its box`),
  ]);
}

const holder: fc.Arbitrary<CardHolder> = fc.oneof(
  fc.record({
    label: fc.constantFrom("clef-serve", "candle-vllm", "candle-vllm-next", "reasoning"),
    cards: fc.constantFrom(1, 2, 4),
  }),
  fc.record({
    label: fc.stringMatching(/^[a-z]{1,20}\/[a-z0-9-]{1,253}$/),
    cards: fc.constantFrom(1, 2, 8),
    unmanaged: fc.constant(true),
  }),
);

const name = fc.stringMatching(/^[a-z]([a-z0-9-]{0,28}[a-z0-9])?(\.[a-z]{1,20}){0,2}$/);

/** Nodes in one state; what is asked of them may be more than they have. */
const state = (names: readonly string[]): fc.Arbitrary<readonly NodeCards[]> =>
  fc.tuple(
    ...names.map((each) =>
      fc.record({
        name: fc.constant(each),
        cards: fc.integer({ min: 1, max: 16 }),
        holders: fc.array(holder, { maxLength: 6 }),
      }),
    ),
  );

const states = fc
  .uniqueArray(name, { minLength: 1, maxLength: 16 })
  .chain((names) =>
    fc.record({ after: state(names), before: fc.option(state(names), { nil: undefined }) }),
  );

describe("cardMapSvg", () => {
  it("never lets two labels overlap, nor one leave its box or the picture", function () {
    this.timeout(60_000);
    fc.assert(
      fc.property(states, fc.constantFrom(...themes), ({ after, before }, theme) => {
        expect(faults(cardMapSvg(after, { before, theme }))).to.deep.equal([]);
      }),
      { numRuns: 150 },
    );
  });

  it("has faults by that measure when labels are longer than their boxes", () => {
    const nodes = [{ name: "worker-1", cards: 1, holders: [{ label: "clef-serve", cards: 1 }] }];
    const stretched = cardMapSvg(nodes, { theme: "light" }).replace(
      /textLength="78"/,
      'textLength="300"',
    );
    expect(faults(stretched)).to.include('"clef-serve" leaves its box');
  });

  for (const theme of themes) {
    it(`shows every pod of 16 nodes with 16 cards (${theme})`, () => {
      const nodes = Array.from({ length: 16 }, (_, at) => ({
        name: `worker-${at + 1}`,
        cards: 16,
        holders: Array.from({ length: 16 }, () => ({ label: "clef-serve", cards: 1 })),
      }));
      const svg = cardMapSvg(nodes, { theme });
      expect(cellsOf(svg)).to.have.length(256);
      expect(
        textsOf(svg).filter(({ content }) => content === "16 of 16 used, full"),
      ).to.have.length(16);
      expect(faults(svg)).to.deep.equal([]);
    });
  }

  it("names pods where the names fit, and stands letters for them elsewhere", () => {
    const named = cardMapSvg(
      [{ name: "worker-1", cards: 4, holders: [{ label: "clef-serve", cards: 1 }] }],
      { theme: "light" },
    );
    expect(textsOf(named).map(({ content }) => content)).to.deep.equal([
      "worker-1",
      "clef-serve",
      "idle",
      "idle",
      "idle",
      "1 of 4 used, 3 free",
    ]);
    const short = cardMapSvg(
      [{ name: "worker-1", cards: 16, holders: [{ label: "clef-serve", cards: 1 }] }],
      { theme: "light" },
    );
    const texts = textsOf(short).map(({ content }) => content);
    expect(texts.slice(0, 3)).to.deep.equal(["worker-1", "A", "·"]);
    expect(texts.slice(-2)).to.deep.equal(["A", "clef-serve"]);
  });

  it("outlines what changes and nothing else", () => {
    const worker = (holders: readonly CardHolder[]) => [{ name: "worker-1", cards: 2, holders }];
    const coder = { label: "candle-vllm", cards: 1 };
    const outlined = (svg: string) => (svg.match(/stroke-width="2"/g) ?? []).length;
    const moved = cardMapSvg(worker([coder, { label: "reasoning", cards: 1 }]), {
      before: worker([coder]),
      theme: "light",
    });
    // The idle card before, and who sits there after.
    expect(outlined(moved)).to.equal(2);
    const same = cardMapSvg(worker([coder]), { before: worker([coder]), theme: "light" });
    expect(outlined(same)).to.equal(0);
  });

  it("takes names as text, whatever is in them", () => {
    const svg = cardMapSvg(
      [{ name: '<script>"&', cards: 1, holders: [{ label: "<b>", cards: 1 }] }],
      { theme: "dark" },
    );
    expect(svg).not.to.match(/<script|<b>/);
    expect(svg).to.include("&lt;script&gt;&quot;&amp;");
  });
});

/** @see https://www.w3.org/TR/WCAG21/#dfn-relative-luminance */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((at) => parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(a: string, b: string): number {
  const [dark = 0, light = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

describe("palettes", () => {
  for (const theme of themes) {
    it(`${theme}: every text has a contrast of at least 4.5`, () => {
      const { background, ink, muted, wrong, onFill, fills, stranger } = palettes[theme];
      const pairs = [
        ...[ink, muted, wrong].map((colour) => [colour, background] as const),
        ...[...fills, ...stranger].map((fill) => [onFill, fill] as const),
      ];
      const weak = pairs.filter(([a, b]) => contrast(a, b) < 4.5);
      expect(weak).to.deep.equal([]);
    });
  }
});
