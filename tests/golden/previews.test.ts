import { expect } from "chai";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { NodeCards } from "../../gpu/cardMap.ts";
import { cardMapSvg } from "../../review/cardMapSvg.ts";
import { reviewMarkdown } from "../../review/reviewMarkdown.ts";
import { reviewOf, type Review } from "../../review/reviewOf.ts";
import { reviewTerminal } from "../../review/reviewTerminal.ts";
import type { CoderService } from "../../review/coderService.ts";
import type { Verdict } from "../../review/verdict.ts";
import { recordedPreview } from "./previews/recordedPreview.ts";

const folder = join(import.meta.dirname, "previews");
const docs = join(import.meta.dirname, "..", "..", "docs", "review");
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
function golden(path: string, text: string): void {
  if (process.env.UPDATE_GOLDEN === "1") writeFileSync(path, text);
  expect(text).to.equal(readFileSync(path, "utf8"));
}

/** What matters most of each, whatever else its report says. */
const expected: Readonly<Record<string, readonly [Verdict, CoderService]>> = {
  nothing: ["no change", "unchanged"],
  scale: ["safe", "unchanged"],
  restart: ["restarts pods", "unchanged"],
  swap: ["restarts pods", "unchanged"],
  "move-a-card": ["restarts pods", "unchanged"],
  park: ["ends pods", "unchanged"],
  "park-the-coder": ["ends pods", "unchanged"],
  handoff: ["safe", "updated in place"],
  "handoff-too-early": ["blocked", "not known"],
  "handoff-unready": ["interrupts a route", "updated in place"],
  "200-changes": ["restarts pods", "unchanged"],
  "unmanaged-holder": ["ends pods", "unchanged"],
  "scaled-by-hand": ["blocked", "unchanged"],
  "first-installation": ["safe", "created"],
  adoption: ["restarts pods", "adopted"],
  "adoption-refused": ["blocked", "not known"],
  "too-many-cards": ["blocked", "not known"],
  "renamed-service": ["blocked", "not known"],
  "blocked-replace": ["blocked", "BLOCKED"],
  "removed-service": ["blocked", "BLOCKED"],
  "dropped-protect": ["blocked", "BLOCKED"],
  "policy-failure": ["blocked", "BLOCKED"],
  unreachable: ["blocked", "not known"],
  offline: ["blocked", "unchanged"],
  secrets: ["blocked", "not known"],
  "secrets-past-the-program": ["restarts pods", "unchanged"],
  "no-passphrase": ["blocked", "not known"],
};

describe("reports of recorded previews", () => {
  it("are of every kind that a reviewer meets", () => {
    const verdicts = names.map((name) => {
      const { verdict, coderService } = reviewed(name);
      return [name, [verdict, coderService]];
    });
    expect(Object.fromEntries(verdicts)).to.deep.equal(expected);
  });

  it("A19 hold no secret, neither of a refused file nor of a program that lets one through", () => {
    for (const name of ["secrets", "secrets-past-the-program"]) {
      const review = reviewed(name);
      const report = reviewMarkdown(review) + reviewTerminal(review, { colour: true });
      expect(report, name).to.include("(hidden)").and.not.to.include("canary123");
      // Else there would be nothing to hide.
      expect(JSON.stringify(recordedPreview(name))).to.include("canary123");
    }
  });

  it("keep what matters of 200 changes within a limit, and say what is missing", () => {
    const whole = reviewMarkdown(reviewed("200-changes"), { limit: 1_000_000 });
    const cut = reviewMarkdown(reviewed("200-changes"), { limit: 4000 });
    expect(whole.match(/^\| `spec\.template\..*\[OPTION_\d+\]` \|/gm)).to.have.length(200);
    expect(cut.length).to.be.at.most(4000);
    for (const part of [
      "restarts pods",
      "| coder-predictor | unchanged |",
      "### Cards",
      "### Routes",
    ]) {
      expect(cut).to.include(part);
    }
    expect(cut).to.match(/_\d+ more lines were left out, to stay within 4000 characters\._\n$/);
  });

  it("take less than 300 ms, with the largest of them", () => {
    const times = [1, 2, 3].map(() => {
      const begin = performance.now();
      const review = reviewed("200-changes");
      reviewMarkdown(review);
      reviewTerminal(review, { colour: true });
      const { after = [], before } = review.facts ?? {};
      cardMapSvg(after, { before, theme: "light" });
      cardMapSvg(after, { before, theme: "dark" });
      return performance.now() - begin;
    });
    expect(Math.min(...times)).to.be.lessThan(300);
  });

  for (const name of names) {
    it(`${name}: the report and the terminal are as committed`, () => {
      const review = reviewed(name);
      golden(join(folder, "reports", `${name}.md`), reviewMarkdown(review));
      golden(
        join(folder, "reports", `${name}.txt`),
        `${reviewTerminal(review, { colour: false })}\n`,
      );
    });
  }

  it("have colours on a terminal, and the same text", () => {
    for (const name of names) {
      const coloured = reviewTerminal(reviewed(name), { colour: true });
      // eslint-disable-next-line no-control-regex -- the escape character is what is looked for
      const plain = coloured.replaceAll(/\u001b\[[\d;]+m/g, "");
      expect(coloured, name).not.to.equal(plain);
      expect(plain, name).to.equal(reviewTerminal(reviewed(name), { colour: false }));
    }
  });

  it("are what the README shows", () => {
    const readme = readFileSync(join(docs, "..", "..", "README.md"), "utf8");
    const shown = reviewTerminal(reviewed("move-a-card"), { colour: false });
    expect(readme).to.include(`\n\`\`\`text\n${shown}\n\`\`\`\n`);
  });

  for (const theme of ["light", "dark"] as const) {
    for (const name of ["move-a-card", "too-many-cards", "unmanaged-holder"]) {
      it(`${name}: the picture in docs is as committed (${theme})`, () => {
        const { after = [], before } = reviewed(name).facts ?? {};
        golden(join(docs, `${name}-${theme}.svg`), cardMapSvg(after, { before, theme }));
      });
    }

    it(`the picture of 16 nodes in docs is as committed (${theme})`, () => {
      const picture = cardMapSvg(sixteenNodes(2), { before: sixteenNodes(3), theme });
      golden(join(docs, `sixteen-nodes-${theme}.svg`), picture);
    });
  }
});

/** 16 nodes of 16 cards; the coder runs on every `step`th. */
function sixteenNodes(step: number): readonly NodeCards[] {
  const pod = (label: string, cards: number) => ({ label, cards });
  return Array.from({ length: 16 }, (_, at) => ({
    name: `worker-${at + 1}`,
    cards: 16,
    holders: [
      pod("clef-serve", 1),
      ...(at % step === 0 ? [pod("candle-vllm", 4)] : []),
      pod("candle-vllm-next", 2),
      pod("reasoning", 1),
      pod("reasoning", 1),
      ...(at === 5 ? [{ ...pod("research/notebook-7d9f", 2), unmanaged: true }] : []),
    ],
  }));
}
