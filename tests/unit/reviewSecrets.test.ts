import { expect } from "chai";
import { maskedText, maskedValue, secretsIn } from "../../review/maskSecrets.ts";
import { reviewMarkdown } from "../../review/reviewMarkdown.ts";
import { reviewOf } from "../../review/reviewOf.ts";
import { reviewTerminal } from "../../review/reviewTerminal.ts";
import { eventLog, previewFactsOf, step } from "./reviewFixtures.ts";

const CANARY = "canary123";
// Assembled, so that no scanner takes this file for a leak.
const TOKEN = ["hf", `${CANARY}abcdef`].join("_");
const ENV = "spec.template.spec.containers[server].env";

describe("A19 secrets in a report", () => {
  const hidden: readonly (readonly [string, unknown, string, string])[] = [
    ["a variable by its name", CANARY, `${ENV}[HF_TOKEN].value`, "Deployment"],
    [
      "a whole variable by its name",
      { name: "HF_TOKEN", value: CANARY },
      `${ENV}[HF_TOKEN]`,
      "Deployment",
    ],
    ["a key by its name", { apiKey: CANARY }, "spec", "Deployment"],
    ["a value by its form", `--token=${TOKEN}`, "args", "Deployment"],
    ["a word of a list by its form", ["--flag", TOKEN], "args", "Deployment"],
    ["the value after a flag", `--api-key ${CANARY}`, "args", "Deployment"],
    ["content of a Secret", CANARY, "stringData.greeting", "Secret"],
    ["all content of a Secret", { greeting: CANARY }, "data", "Secret"],
    [
      "what the engine has encrypted",
      { "4dabf18193072939515e22adb298388d": "1", plaintext: CANARY },
      "x",
      "Pod",
    ],
  ];
  for (const [what, value, path, kind] of hidden) {
    it(`hides ${what}`, () => {
      const shown = JSON.stringify(maskedValue(value, path, kind));
      expect(shown).to.include("(hidden)").and.not.to.include(CANARY);
    });
  }

  it("shows where a secret comes from, and what only sounds like one", () => {
    const reference = { secretKeyRef: { name: "hub", key: "token" } };
    expect(maskedValue(reference, `${ENV}[HF_TOKEN].valueFrom`, "Deployment")).to.deep.equal(
      reference,
    );
    expect(maskedValue("4096", `${ENV}[MAX_TOKENS].value`, "Deployment")).to.equal("4096");
    expect(maskedValue("a", "data.greeting", "ConfigMap")).to.equal("a");
    const sentence = "grant get on secrets; the token of this identity has expired";
    expect(maskedText(sentence)).to.equal(sentence);
  });

  it("hides a secret to its end", () => {
    expect(maskedText(`value: "${TOKEN}-${CANARY}_${CANARY}"`)).to.equal('value: "(hidden)"');
    expect(maskedText(`HF_TOKEN=${CANARY} next`)).to.equal("HF_TOKEN=(hidden) next");
    const key = `-----BEGIN RSA PRIVATE KEY-----\n${CANARY}\n-----END RSA PRIVATE KEY-----`;
    expect(maskedText(`key: ${key}\nnext`)).to.equal("key: (hidden)\nnext");
  });

  it("hides in texts what names gave away elsewhere", () => {
    const secrets = secretsIn({ env: [{ name: "HF_TOKEN", value: CANARY }] }, "", "Deployment");
    expect(secrets).to.deep.equal([CANARY]);
    expect(maskedText(`+ name : "HF_TOKEN"\n+ value: "${CANARY}"`, secrets)).to.equal(
      '+ name : "HF_TOKEN"\n+ value: "(hidden)"',
    );
  });

  it("hides them in the whole report and on the terminal", () => {
    const pod = (value: string) => ({
      inputs: { spec: { replicas: 1, template: { env: [{ name: "HF_TOKEN", value }] } } },
    });
    const secret = (value: string) => ({ inputs: { stringData: { greeting: value } } });
    const steps = [
      step("update", "Deployment candle-vllm", {
        old: pod(`old-${CANARY}`),
        new: pod(`new-${CANARY}`),
      }),
      step("update", "Secret hub", { old: secret(`was-${CANARY}`), new: secret(`is-${CANARY}`) }),
    ];
    const review = reviewOf({
      stack: "prod",
      events: eventLog(steps),
      facts: previewFactsOf({ warnings: [`candle-vllm was started with ${TOKEN}`] }),
      printed: `~ value: "old-${CANARY}" => "new-${CANARY}"\n~ greeting: "was-${CANARY}" => "is-${CANARY}"`,
      edits: [{ path: "llm-serving:candleVllm.env.HF_TOKEN", before: undefined, after: CANARY }],
      baseWarnings: [],
      provenance: {
        ...{ commit: "1", dirty: false, base: "HEAD", baseCommit: "1", changedFiles: [], cli: "3" },
      },
    });
    const all = reviewMarkdown(review) + reviewTerminal(review, { colour: true });
    expect(all).to.include("(hidden)").and.not.to.include(CANARY);
    expect(JSON.stringify(review)).not.to.include(CANARY);
  });
});
