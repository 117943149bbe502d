import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cardMapSvg } from "./cardMapSvg.ts";
import { reviewMarkdown } from "./reviewMarkdown.ts";
import type { Review } from "./reviewOf.ts";

/** Where a review is written to, and how. */
export interface WriteOptions {
  /** Folder of the report and its pictures; made where it does not exist. */
  readonly output: string;
  /** Most characters of the report. */
  readonly limit: number;
  /** Where a reader of the report can fetch the pictures; absent: nowhere, the report draws them as text. */
  readonly pictures: string | undefined;
}

/** The pictures beside the report. */
const PICTURES = { light: "cards-light.svg", dark: "cards-dark.svg" } as const;

/** Writes the report of a review and its pictures. @returns the report's path */
export async function writeReview(review: Review, options: WriteOptions): Promise<string> {
  const { output, limit, pictures } = options;
  const report = join(output, "report.md");
  const address = pictures?.replace(/\/$/, "");
  const at = address === undefined ? undefined : (name: string) => `${address}/${name}`;
  const markdown = reviewMarkdown(review, {
    limit,
    pictures: at && { light: at(PICTURES.light), dark: at(PICTURES.dark) },
  });
  await mkdir(output, { recursive: true });
  await writeFile(report, markdown);
  for (const theme of ["light", "dark"] as const) {
    const path = join(output, PICTURES[theme]);
    const { facts } = review;
    // No picture rather than that of an earlier run.
    if (facts === undefined) await rm(path, { force: true });
    else await writeFile(path, cardMapSvg(facts.after, { before: facts.before, theme }));
  }
  return report;
}
