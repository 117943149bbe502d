import type { Colours } from "./palette.ts";

/** Height of the type in pixels. */
const SIZE = 13;

/** Width of one character in pixels: every text states its length, so that any font is fitted to it. */
export const CHARACTER = 7.8;

const FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";

/** How a box looks. */
export interface BoxStyle {
  readonly fill: string;
  readonly stroke?: string;
  readonly strokeWidth?: number;
  readonly dashed?: boolean;
  readonly radius?: number;
}

/** How a text looks, and which of its points stands at x. */
export interface TextStyle {
  readonly fill: string;
  readonly anchor?: "start" | "middle" | "end";
  readonly bold?: boolean;
}

/** A box, in pixels from the upper left. */
export function rect(
  x: number,
  y: number,
  width: number,
  height: number,
  { fill, stroke = "none", strokeWidth = 1, dashed = false, radius = 0 }: BoxStyle,
): string {
  const dashes = dashed ? ' stroke-dasharray="4 3"' : "";
  return (
    `<rect x="${n(x)}" y="${n(y)}" width="${n(width)}" height="${n(height)}" rx="${radius}" fill="${fill}" ` +
    `stroke="${stroke}" stroke-width="${strokeWidth}"${dashes}/>`
  );
}

/** One line of text whose middle lies at y. */
export function text(
  content: string,
  x: number,
  y: number,
  { fill, anchor = "start", bold = false }: TextStyle,
): string {
  const weight = bold ? ' font-weight="600"' : "";
  return (
    `<text x="${n(x)}" y="${n(y)}" textLength="${n(content.length * CHARACTER)}" lengthAdjust="spacingAndGlyphs" ` +
    `text-anchor="${anchor}" dy="0.35em" fill="${fill}"${weight}>${escaped(content)}</text>`
  );
}

/**
 * A whole picture.
 * @param title what it shows, for those who do not see it
 */
export function svg(
  width: number,
  height: number,
  title: string,
  { background, stranger: [stripe, between] }: Colours,
  parts: readonly string[],
): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${n(width)} ${n(height)}" width="${n(width)}" height="${n(height)}" role="img" font-family="${FONT}" font-size="${SIZE}">`,
    `<title>${escaped(title)}</title>`,
    `<defs><pattern id="unmanaged" width="10" height="10" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">` +
      `<rect width="10" height="10" fill="${between}"/><rect width="5" height="10" fill="${stripe}"/></pattern></defs>`,
    rect(0, 0, width, height, { fill: background }),
    ...parts,
    "</svg>",
    "",
  ].join("\n");
}

/** A number without the noise of binary fractions. */
function n(value: number): string {
  return String(Number(value.toFixed(2)));
}

/** Text as it may stand in a picture. */
export function escaped(content: string): string {
  return content
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
