import { expect } from "chai";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { baselineOf } from "../../review/baseline.ts";
import { reviewMarkdown } from "../../review/reviewMarkdown.ts";
import { reviewOf } from "../../review/reviewOf.ts";
import { reviewTerminal } from "../../review/reviewTerminal.ts";
import { runPreview } from "../../review/runPreview.ts";
import { textOf, useDevStack } from "../support/devStack.ts";
import { apply, kubectl, pulumi, useLab } from "../support/lab.ts";

const CANARY = "canary123canary";
const CREDENTIAL = ["ghp", `${CANARY}abcdefgh`].join("_");

/** A token in a Secret of the cluster, as somebody made it; the stack file names it. */
const SECRET = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "hub", namespace: "llm-serving" },
  stringData: { token: CANARY },
};

function eventsAfterPrelude(log: string): string {
  const events = log.split("\n");
  expect(events[0]).to.include('"preludeEvent"');
  return events.slice(1).join("\n");
}

// What is secret stays where it was put; see docs/state.md.
describe("secrets and state", function () {
  this.timeout(300_000);
  const lab = useLab("test-secrets");
  const { file, run, updated } = useDevStack(lab);
  const state = () => join(lab().folder, "state");

  before(async () => updated());

  /**
   * Everything that one preview leaves behind, as texts: log, facts, output and the report in both forms. The log's first
   * event is left out: in it the engine repeats the stack file as it stands. `make review` reads it in a folder of its
   * own and removes it.
   */
  async function review(): Promise<{ readonly blocked: boolean; readonly texts: string[] }> {
    const configFile = file().path;
    const {
      edits,
      warnings: baseWarnings,
      ...compared
    } = await baselineOf("dev", "HEAD", configFile);
    const preview = await runPreview({ stack: "dev", env: lab().env, configFile });
    const provenance = { ...compared, base: "HEAD", cli: "" };
    const result = reviewOf({ stack: "dev", ...preview, edits, baseWarnings, provenance });
    const reports = [reviewMarkdown(result), reviewTerminal(result, { colour: false })];
    const facts = JSON.stringify(preview.facts ?? {});
    return {
      blocked: result.verdict === "blocked",
      texts: [eventsAfterPrelude(preview.events), preview.printed, facts, ...reports],
    };
  }

  /** Every file of the state, its history and its backups, by path. */
  async function stateFiles(): Promise<Record<string, string>> {
    const entries = await readdir(state(), { recursive: true, withFileTypes: true });
    const paths = entries.filter((entry) => entry.isFile()).map((e) => join(e.parentPath, e.name));
    const files = paths.map(async (path) => [path, await readFile(path, "utf8")] as const);
    return Object.fromEntries(await Promise.all(files));
  }

  it("A19 refuses every plain secret of the stack file by its key, and repeats none", async () => {
    file().edit({
      hfToken: CANARY,
      "candleVllm.env": { HF_TOKEN: CANARY },
      "clefServe.env": { PLAIN: CREDENTIAL },
      "registry.pullSecret": CREDENTIAL,
    });
    const text = await readFile(file().path, "utf8");
    await writeFile(file().path, text.replace("config:", `config:\n  aws:secretKey: ${CANARY}`));
    const { blocked, texts } = await review();
    expect(blocked).to.equal(true);
    const refused = [
      "llm-serving:hfToken",
      "llm-serving:candleVllm.env.HF_TOKEN",
      "llm-serving:clefServe.env.PLAIN",
      "llm-serving:registry.pullSecret",
      // Another program's namespace, in the same file.
      "aws:secretKey",
    ];
    for (const key of refused) expect(texts.join("\n")).to.include(`${key} = (hidden): `);
    for (const each of texts) expect(each).not.to.include(CANARY);
  });

  it("A19 refuses an encrypted value too, since no key takes one, and decrypts it nowhere", async () => {
    const set = ["config", "set", "--secret", "llm-serving:hfToken", CANARY];
    expect((await run(set)).code).to.equal(0);
    const { blocked, texts } = await review();
    expect(blocked).to.equal(true);
    expect(texts.join("\n")).to.include("llm-serving:hfToken = (encrypted): ");
    for (const text of texts) expect(text).not.to.include(CANARY);
  });

  it("A19 has a token from a Secret of the cluster in no output, report, event, log or state", async () => {
    await apply(lab(), [SECRET]);
    const edits = { "candleVllm.hfTokenSecret": { name: "hub", key: "token" } };
    file().edit(edits);
    const { blocked, texts } = await review();
    expect(blocked, texts.join("\n")).to.equal(false);
    const up = await updated(edits);
    const json = await run(["preview", "--json"]);
    const outputs = await pulumi(lab(), ["stack", "output", "--json", "--show-secrets"]);
    const exported = await run(["stack", "export", "--show-secrets"]);
    const all = [...texts, up, ...[json, outputs, exported].map(textOf)];
    all.push(...Object.values(await stateFiles()));
    for (const text of all) {
      expect(text).not.to.include(CANARY);
      expect(text).not.to.include(Buffer.from(CANARY).toString("base64"));
    }
    // It is there all the same: the pod takes it from the Secret.
    const deployment = ["get", "deployment", "candle-vllm", "--namespace=llm-serving", "-o=json"];
    expect(await kubectl(lab(), ...deployment)).to.match(/"secretKeyRef": \{\s+"key": "token"/);
  });

  it("previews while somebody else holds the lock, takes none, and writes nothing to the state", async () => {
    const folder = join(state(), ".pulumi", "locks", "organization", "llm-serving", "dev");
    const held = join(folder, "00000000-0000-0000-0000-000000000000.json");
    const holder = { pid: 1, username: "somebody", hostname: "elsewhere", timestamp: new Date() };
    await mkdir(folder, { recursive: true });
    await writeFile(held, JSON.stringify(holder));
    try {
      const before = await stateFiles();
      expect((await run(["preview"])).code).to.equal(0);
      expect((await run(["preview", "--refresh"])).code).to.equal(0);
      expect(await stateFiles()).to.deep.equal(before);
      const up = await run(["up", "--yes", "--skip-preview"]);
      expect(up.code).not.to.equal(0);
      expect(textOf(up)).to.match(/locked by 1 lock[^]*somebody@elsewhere/);
    } finally {
      await rm(held);
    }
  });

  it("refuses a preview with another passphrase, and says so", async () => {
    const outcome = await run(["preview"], { PULUMI_CONFIG_PASSPHRASE: "another" });
    expect(outcome.code).not.to.equal(0);
    expect(textOf(outcome)).to.include("incorrect passphrase");
  });
});
