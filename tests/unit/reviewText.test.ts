import { expect } from "chai";
import fc from "fast-check";
import { code, fenced, prose } from "../../review/markdownText.ts";
import { joinSections, type Section } from "../../review/sections.ts";
import { stackEdits } from "../../review/stackEdits.ts";

const sections: readonly Section[] = [
  { head: ["# title"], lines: [] },
  { head: ["## first"], lines: ["a", "b"] },
  {
    head: ["<details>"],
    lines: Array.from({ length: 500 }, (_, at) => `line ${at}`),
    tail: ["</details>"],
  },
];

describe("joinSections", () => {
  it("leaves everything where it fits", () => {
    const text = joinSections(sections, 10_000);
    expect(text).to.include("line 499\n</details>\n");
    expect(text).not.to.include("left out");
  });

  it("cuts lines of the last section first, closes it, and says how many are missing", () => {
    const text = joinSections(sections, 1000);
    expect(text.length).to.be.at.most(1000);
    expect(text).to.match(/^# title\n\n## first\na\nb\n\n<details>\nline 0\n/);
    const shown = text.match(/^line /gm)?.length ?? 0;
    expect(text).to.match(
      new RegExp(
        `</details>\n\n_${500 - shown} more lines were left out, to stay within 1000 characters._\n$`,
      ),
    );
  });

  it("never exceeds the limit, and never loses an earlier line for a later one", () => {
    const section = fc.record({
      head: fc.array(fc.string({ maxLength: 40 }), { maxLength: 2 }),
      lines: fc.array(fc.string({ maxLength: 200 }), { maxLength: 30 }),
    });
    fc.assert(
      fc.property(
        fc.array(section, { maxLength: 8 }),
        fc.integer({ min: 1000, max: 5000 }),
        (rest, limit) => {
          const all = [{ head: ["# title"], lines: [] }, ...rest];
          const text = joinSections(all, limit);
          expect(text.length).to.be.at.most(limit);
          const whole = joinSections(all, 1_000_000);
          const [kept = ""] = text.split(/\n_\d+ more lines were left out/);
          if (text !== whole) expect(whole.startsWith(kept.trimEnd())).to.equal(true);
        },
      ),
    );
  });
});

describe("Markdown of values and messages", () => {
  it("is code that no backtick, bar or newline breaks out of", () => {
    expect(code("a`b|c\nd")).to.equal("``a`b\\|c ⏎ d``");
    expect(code("`x`")).to.equal("`` `x` ``");
    expect(fenced("```\ninner\n```")).to.match(/^````text\n/);
  });

  it("means nothing in a message but for its commands", () => {
    expect(prose("*_VISIBLE_DEVICES of <pod>, run `make lab`")).to.equal(
      "\\*\\_VISIBLE\\_DEVICES of \\<pod\\>, run `make lab`",
    );
    expect(prose("one ` alone")).to.equal("one \\` alone");
  });
});

describe("stackEdits", () => {
  const file = (replicas: number) =>
    `# a comment\nconfig:\n  llm-serving:clefServe:\n    replicas: ${replicas}\n`;

  it("names each key that differs, as the CLI names it", () => {
    expect(stackEdits(file(1), `${file(2)}    cpu: 8\n`, "x")).to.deep.equal([
      { path: "llm-serving:clefServe.replicas", before: 1, after: 2 },
      { path: "llm-serving:clefServe.cpu", before: undefined, after: 8 },
    ]);
  });

  it("is empty for another comment, and has every key of a new file", () => {
    expect(stackEdits(file(1), file(1).replace("# a comment", "# another"), "x")).to.deep.equal([]);
    expect(stackEdits(undefined, file(1), "x")).to.deep.equal([
      { path: "llm-serving:clefServe", before: undefined, after: { replicas: 1 } },
    ]);
  });
});
