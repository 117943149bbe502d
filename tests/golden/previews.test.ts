import { expect } from "chai";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { reviewMarkdown } from "../../review/reviewMarkdown.ts";
import { reviewOf, type Review } from "../../review/reviewOf.ts";
import { reviewTerminal } from "../../review/reviewTerminal.ts";
import { recordedPreview } from "./previews/recordedPreview.ts";

const folder = join(import.meta.dirname, "previews");
const names = readdirSync(join(folder, "recorded")).map((file) => file.replace(".json", ""));

/** A recorded preview, judged; what git would say of it is the same for all. */
function reviewed(name: string): Review {
  const { changedFiles, ...preview } = recordedPreview(name);
  return reviewOf({
    stack: "dev",
    ...preview,
    provenance: {
      commit: "0123456789",
      dirty: false,
      base: "HEAD~1",
      baseCommit: "9876543210",
      changedFiles,
      cli: "3.274.1",
    },
  });
}

/** Compares with the committed file, or writes it. */
function golden(file: string, text: string): void {
  const path = join(folder, "reports", file);
  if (process.env.UPDATE_GOLDEN === "1") writeFileSync(path, text);
  expect(text).to.equal(readFileSync(path, "utf8"));
}

describe("reports of recorded previews", () => {
  for (const name of names) {
    it(`${name}: the report and the terminal are as committed`, () => {
      const review = reviewed(name);
      golden(`${name}.md`, reviewMarkdown(review));
      golden(`${name}.txt`, `${reviewTerminal(review, { colour: false })}\n`);
    });
  }
});
