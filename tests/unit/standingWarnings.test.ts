import { expect } from "chai";
import { readFileSync } from "node:fs";
import { StackFileError } from "../../config/stackFile.ts";
import { reviewMarkdown } from "../../review/reviewMarkdown.ts";
import { type Review, reviewOf } from "../../review/reviewOf.ts";
import { warningsOfFile } from "../../review/standingWarnings.ts";
import { deployment, eventLog, previewFactsOf, step } from "./reviewFixtures.ts";

const dev = readFileSync(new URL("../../Pulumi.dev.yaml", import.meta.url), "utf8");

function reviewed(
  warnings: readonly string[],
  baseWarnings: readonly string[],
  changes = 1,
): Review {
  const scaled = step("update", "Deployment reasoning", { old: deployment(1), new: deployment(2) });
  return reviewOf({
    ...{ stack: "dev", printed: "", edits: [], baseWarnings },
    events: eventLog(Array.from({ length: changes }, () => scaled)),
    facts: previewFactsOf({ warnings, strangers: [] }),
    provenance: {
      ...{ commit: "1", dirty: false, base: "HEAD", baseCommit: "1", changedFiles: [], cli: "3" },
    },
  });
}

describe("what deserves a look in a review", () => {
  it("is what an edit brings, apart from what stood there before", () => {
    const review = reviewed(["a new one", "an old one"], ["an old one", "one that is gone"]);
    expect(review.warnings).to.deep.equal(["a new one"]);
    expect(review.standingWarnings).to.deep.equal(["an old one"]);
    const report = reviewMarkdown(review);
    expect(report).to.include("### To look at\n\n- a new one\n");
    expect(report).to.match(/<summary>To look at, as before \(1\)<\/summary>\n\n- an old one\n/);
    expect(report).not.to.include("one that is gone");
  });

  it("is no news where nothing changes", () => {
    expect(reviewed(["one"], [], 0)).to.deep.include({ warnings: [], standingWarnings: ["one"] });
  });

  it("is known of the base by its stack file alone, in the words of the preview", () => {
    const idle = "llm-serving:gpuNodes[0].cards = 4: 2 of the cards of worker-1 are idle";
    expect(warningsOfFile(dev, "dev")).to.include(idle);
    expect(warningsOfFile(dev.replace("cards: 4", "cards: 2"), "dev")).not.to.include(idle);
  });

  it("is unknown of a file that the program refuses", () => {
    expect(warningsOfFile(dev.replace("cards: 4", "cards: four"), "dev")).to.deep.equal([]);
    expect(warningsOfFile("", "dev")).to.deep.equal([]);
    expect(() => warningsOfFile("config: [", "dev")).to.throw(StackFileError);
  });
});
