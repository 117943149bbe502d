import { expect } from "chai";
import type { Path } from "../../config/fields.ts";
import { fieldAt, keysOf } from "../../config/fields.ts";
import { nearest } from "../../config/nearest.ts";
import { keyOf } from "../../config/problems.ts";
import { stackSchema } from "../../config/schema.ts";
import { fullStack, refusals, smallStack, withValue, without } from "./configFixtures.ts";

/** Every map of the schema with known keys. */
const maps: readonly Path[] = [
  [],
  ...keysOf(stackSchema)
    .filter((key) => key !== "gpuNodes")
    .map((key) => [key]),
  ["gpuNodes", 1],
  ...["candleVllm", "candleVllmNext", "reasoning"].flatMap((engine) => [
    [engine, "hfTokenSecret"],
    [engine, "model"],
    [engine, "model", "source"],
    [engine, "model", "figures"],
  ]),
];

describe("configuration: unknown keys", () => {
  it("B07 refuses candleVllm.replica beside a parked workload and names replicas", () => {
    expect(refusals(withValue(smallStack(), ["candleVllm", "replica"], 0))).to.deep.equal([
      "llm-serving:candleVllm.replica = 0: unknown key, did you mean replicas? (replicas, image, " +
        "node, coldStartSeconds, graceSeconds, hostMemoryGiB, cpu, rollout, env, tensorParallel, " +
        "contextTokens, maxSequences, modelsClaim, hfTokenSecret, model); rename it in " +
        "Pulumi.dev.yaml, or run: pulumi config rm --path 'llm-serving:candleVllm.replica' " +
        "--stack dev",
    ]);
  });

  it("B07 refuses llm-serving:coderTp, a whole unknown key, and names coderService", () => {
    expect(refusals({ ...smallStack(), coderTp: "2" })).to.deep.equal([
      'llm-serving:coderTp = "2": unknown key, did you mean coderService? (cluster, gpuNodes, ' +
        "clefServe, candleVllm, candleVllmNext, reasoning, coderService, registry, access); " +
        "rename it in Pulumi.dev.yaml, or run: pulumi config rm 'llm-serving:coderTp' --stack dev",
    ]);
  });

  it("B07 refuses each known key with a letter too much, at every depth", () => {
    for (const map of maps) {
      for (const known of keysOf(fieldAt(map))) {
        const path = [...map, `${known}x`];
        const lines = refusals(withValue(fullStack(), path, 1));
        expect(lines).to.have.lengthOf(1);
        expect(lines[0]?.replace("(hidden)", "1")).to.include(
          `${keyOf(path)} = 1: unknown key, did you mean ${known}? (`,
        );
      }
    }
  });

  it("refuses keys that every object inherits", () => {
    for (const map of maps) {
      for (const key of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
        const lines = refusals(withValue(fullStack(), [...map, key], { replicas: 1 }));
        expect(lines).to.have.lengthOf(1);
        expect(lines[0]).to.include(`${keyOf([...map, key])} = (a map): unknown key`);
      }
    }
    const polluted = JSON.parse('{"__proto__": {"replicas": 1}}') as Record<string, unknown>;
    expect(refusals({ ...smallStack(), clefServe: polluted })).to.have.lengthOf(2);
  });

  it("says so when a key was set without --path, and how to move its value", () => {
    expect(refusals({ ...smallStack(), "candleVllm.replicas": "1" })).to.deep.equal([
      'llm-serving:candleVllm.replicas = "1": set without --path (replicas inside ' +
        "llm-serving:candleVllm); run: pulumi config rm 'llm-serving:candleVllm.replicas' " +
        "--stack dev, then run: pulumi config set --path 'llm-serving:candleVllm.replicas' 1 " +
        "--stack dev",
    ]);
  });

  it("quotes keys that the shell or --path would read otherwise, and never breaks the line", () => {
    const [quoted, edited] = refusals(
      withValue(withValue(smallStack(), ["access", "it's a.b"], 1), ["access", "two\nlines"], 1),
    );
    expect(quoted).to.match(/pulumi config rm --path 'llm-serving:access\["it'\\''s a\.b"\]' --/);
    expect(edited).to.match(/^llm-serving:access\["two\\nlines"\] = 1: .*remove it from Pulumi/);
    expect(edited).not.to.include("\n");
  });
});

describe("configuration: other namespaces", () => {
  const around = { foreign: ["pulumi:disable-default-providers", "kubernetes:candleVllm"] };

  it("B08 names the right key and file when kubernetes:candleVllm was set instead", () => {
    expect(refusals(without(smallStack(), ["candleVllm"]), around)).to.deep.equal([
      "llm-serving:candleVllm = (not set): required, and kubernetes:candleVllm is set under " +
        "another program's namespace (a map with replicas, tensorParallel, model); write " +
        "llm-serving:candleVllm: {replicas: 1, tensorParallel: 1, model: {name: " +
        "qwen3-30b-a3b-q4_k_m, source: {gguf: /models/coder.gguf}}} under config in " +
        "Pulumi.dev.yaml",
    ]);
  });

  it("B08 names the right key for a nested one, kubernetes:clefServe.replicas", () => {
    const stack = withValue(smallStack(), ["clefServe"], {});
    expect(refusals(stack, { foreign: ["kubernetes:clefServe.replicas"] })).to.deep.equal([
      "llm-serving:clefServe.replicas = (not set): required, and kubernetes:clefServe.replicas is " +
        "set under another program's namespace (an integer 0..16, unquoted); run: pulumi config " +
        "set --path 'llm-serving:clefServe.replicas' 1 --stack dev",
    ]);
  });

  it("leaves them alone when nothing is missing", () => {
    expect(refusals(smallStack(), around)).to.deep.equal([]);
  });
});

describe("nearest", () => {
  const known = ["replicas", "tensorParallel", "rollout", "cpu"];

  it("takes the candidate with the fewest edits", () => {
    expect(
      ["replicsa", "Replicas", "tp", "tensorparalel", "roll", "cpus"].map((word) =>
        nearest(word, known),
      ),
    ).to.deep.equal(["replicas", "replicas", "cpu", "tensorParallel", "rollout", "cpu"]);
  });

  it("takes the one that begins alike when the edits are even", () => {
    expect(nearest("candleVlm", ["candleVllmNext", "candleVllm"])).to.equal("candleVllm");
    expect(nearest("candleVllmNxt", ["candleVllm", "candleVllmNext"])).to.equal("candleVllmNext");
  });

  it("does not get slow on a long key", () => {
    expect(nearest("c".repeat(1_000_000), known)).to.equal("cpu");
  });
});
