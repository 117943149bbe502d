import { expect } from "chai";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { StackFileError } from "../../config/stackFile.ts";
import { repository } from "../../lab/labLifecycle.ts";
import { argumentsOf } from "../../rehearse/arguments.ts";
import { readStackFiles } from "../../rehearse/baseStack.ts";
import { dummies } from "../../rehearse/dummies.ts";
import { labFor, simulatedTimes } from "../../rehearse/labFor.ts";
import { labStack } from "../../rehearse/labStack.ts";
import { RehearsalError } from "../../rehearse/problem.ts";
import { stackWith } from "./rehearsalStacks.ts";

type Values = Record<string, Record<string, unknown>>;

function labConfigOf(text: string): Values {
  return (parse(labStack(text, "prod", "x").text) as { config: Values }).config;
}

async function refusal(action: Promise<unknown>): Promise<string> {
  try {
    await action;
  } catch (error) {
    if (error instanceof RehearsalError) return error.message;
    throw error;
  }
  throw new Error("not refused");
}

describe("a stack file made fit for a lab", () => {
  const prod = readFileSync(join(repository, "Pulumi.prod.yaml"), "utf8");

  it("leads to the lab and to nothing else, and has images although prod states none", () => {
    const config = labConfigOf(prod);
    expect(config["llm-serving:cluster"]).to.deep.equal({ context: "llm-lab", lab: true });
    for (const name of ["clefServe", "candleVllm", "candleVllmNext", "reasoning"]) {
      expect(config[`llm-serving:${name}`]?.image, name).to.match(/^lab\.invalid\/.*@sha256:/);
    }
  });

  it("keeps a uid out, and everything that belongs to another backend", () => {
    const uid = "00000000-0000-4000-8000-000000000000";
    const text = stackWith({ cluster: { context: "platform-onprem", uid } });
    const lab = labStack(`${text}\nencryptionsalt: v1:abc:def\n`, "prod", "x").text;
    expect(lab).not.to.include(uid).and.not.include("salt").and.not.include("platform");
  });

  it("tells two images apart and keeps equal ones equal", () => {
    const imageOf = (image: string) =>
      labConfigOf(stackWith({ clefServe: { image } }))["llm-serving:clefServe"]?.image;
    const [a, b] = ["a", "b"].map((digit) => `registry.example/x@sha256:${digit.repeat(64)}`);
    expect(imageOf(a ?? "")).to.equal(imageOf(a ?? ""));
    expect(imageOf(a ?? "")).not.to.equal(imageOf(b ?? ""));
  });

  it("is refused with the program's own message and the file's name", () => {
    const text = stackWith({ candleVllm: { tensorParallel: 3 } });
    expect(() => labStack(text, "prod", "Pulumi.prod.yaml of HEAD~1")).to.throw(
      RehearsalError,
      /^Pulumi\.prod\.yaml of HEAD~1 is refused by today's program:\n.*\n?.*candleVllm\.tensorParallel = 3/,
    );
  });

  it("is refused when its cards are not enough", () => {
    const text = stackWith({ reasoning: { replicas: 3 } });
    expect(() => labStack(text, "prod", "x")).to.throw(/worker-1 is asked for 5 cards/);
  });

  it("is refused when it is none", () => {
    expect(() => labStack("", "prod", "x")).to.throw(RehearsalError, /is refused/);
    expect(() => labStack("[]", "prod", "x")).to.throw(StackFileError, /^x: is no map of keys/);
    expect(() => labStack("config: [", "prod", "x")).to.throw(StackFileError, /^x, line 1, col/);
  });
});

describe("the lab of a rehearsal", () => {
  const configOf = (text: string) => labStack(text, "prod", "x").config;

  it("has every node with the most cards it has before or after", () => {
    const node = (name: string, cards: number) => ({ name, cards, memoryGiB: 32 });
    const at = { node: "worker-1" };
    const all = { clefServe: at, candleVllm: at, candleVllmNext: at, reasoning: at };
    const before = configOf(stackWith({ gpuNodes: [node("worker-1", 4)], ...all }));
    const after = configOf(
      stackWith({ gpuNodes: [node("worker-1", 3), node("worker-2", 2)], ...all }),
    );
    expect(labFor(before, after).nodes).to.deep.equal([
      { name: "worker-1", cards: 4 },
      { name: "worker-2", cards: 2 },
    ]);
  });

  it("takes the cold start after the edit and the grace before it", () => {
    const before = configOf(stackWith({ clefServe: { coldStartSeconds: 30, graceSeconds: 25 } }));
    const after = configOf(stackWith({ clefServe: { coldStartSeconds: 90, graceSeconds: 20 } }));
    const { coldStartSeconds, terminationSeconds, timeScale } = labFor(before, after);
    expect([coldStartSeconds["clef-serve"], terminationSeconds["clef-serve"]]).to.deep.equal([
      90, 25,
    ]);
    expect([coldStartSeconds.reasoning, timeScale]).to.deep.equal([240, 60]);
  });

  it("goes faster where an hour's cold start would take a minute", () => {
    const slow = configOf(stackWith({ clefServe: { coldStartSeconds: 3600 } }));
    expect(simulatedTimes(slow, slow).timeScale).to.equal(900);
  });

  it("has each Secret and each claim once, with a volume and without content", () => {
    const engine = { modelsClaim: "models", hfTokenSecret: { name: "hf", key: "token" } };
    const config = configOf(
      stackWith({ candleVllm: engine, reasoning: engine, registry: { pullSecret: "pull" } }),
    );
    const made = dummies([config, config]) as {
      kind: string;
      metadata: { name: string };
      data?: unknown;
    }[];
    expect(made.map(({ kind, metadata }) => `${kind}/${metadata.name}`)).to.deep.equal([
      "Secret/hf",
      "Secret/pull",
      "PersistentVolume/models",
      "PersistentVolumeClaim/models",
    ]);
    expect(made.every(({ data }) => data === undefined)).to.equal(true);
  });
});

describe("arguments of a rehearsal", () => {
  it("refuses a stack without a file, and none for the stack prod", () => {
    for (const stack of ["production", ""]) {
      expect(() => argumentsOf([`--stack=${stack}`])).to.throw(
        StackFileError,
        `STACK = ${stack}: `,
      );
    }
    expect(argumentsOf([]).stack).to.equal("prod");
  });

  it("refuses a base that is no commit, an option of git among them", async () => {
    for (const base of ["", "no-such-branch", "--help", "HEAD:README.md"]) {
      expect(await refusal(readStackFiles("prod", base))).to.equal(
        `BASE = ${base}: no commit of this repository (a branch, tag or commit); set BASE=HEAD`,
      );
    }
  });

  it("takes the stack file of a commit", async () => {
    const { before, commit } = await readStackFiles("prod", "HEAD");
    expect(before).to.include("llm-serving:gpuNodes");
    expect(commit).to.match(/^[0-9a-f]{7,}$/);
  });

  it("refuses a limit that is no number of seconds", () => {
    for (const limit of ["-1", "5m", "1.5", "1e3"]) {
      expect(() => argumentsOf([`--limit=${limit}`])).to.throw(
        RehearsalError,
        `LIMIT = ${limit}: not a number of seconds (0..999999, or unset); set LIMIT=300`,
      );
    }
  });

  it("takes an empty limit, as make passes it, for none, but no empty base for HEAD", () => {
    const { base, limitSeconds } = argumentsOf(["--base=", "--limit="]);
    expect([base, limitSeconds]).to.deep.equal(["", undefined]);
    expect(argumentsOf(["--limit=0"]).limitSeconds).to.equal(0);
  });
});
