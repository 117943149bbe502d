import { expect } from "chai";
import type { Field, Path } from "../../config/fields.ts";
import { isBoolean, isInteger, isNumeric, leaves } from "../../config/fields.ts";
import { parseStackConfig } from "../../config/parse.ts";
import { keyOf } from "../../config/problems.ts";
import { fullStack, refusals, smallStack, withValue, without } from "./configFixtures.ts";

const REPLICAS: Path = ["candleVllm", "replicas"];
const numeric = leaves().filter(([, field]) => isNumeric(field));
const boolean = leaves().filter(([, field]) => isBoolean(field));

/** Refusals of the full stack with one value changed, of the small one where a key excludes it. */
function changed(path: Path, value: unknown): readonly string[] {
  const stack = path.join() === "cluster,lab" ? smallStack() : fullStack();
  return refusals(withValue(stack, path, value));
}

/** Asserts that every field refuses every value with one line that says why and what to run. */
function expectRefused(fields: readonly [Path, Field][], table: readonly [unknown, string][]) {
  for (const [path] of fields) {
    for (const [value, reason] of table) {
      const key = keyOf(path);
      const lines = changed(path, value);
      expect(lines, `${key} = ${String(value)}`).to.have.lengthOf(1);
      expect(lines[0]?.slice(0, `${key} = ${reason} (`.length)).to.equal(`${key} = ${reason} (`);
      expect(lines[0]).to.match(/; run: pulumi config (set|rm) --path '[^']+'.* --stack dev$/);
      expect(lines[0]).to.include(`--path '${key}'`);
    }
  }
}

describe("configuration: numbers", () => {
  it("knows every numeric key", () => {
    // A key that is missing here is also missing in each table below.
    expect(numeric).to.have.lengthOf(2 + 5 + 3 * (5 + 3 + 6) + 1);
  });

  it("B01 refuses a quoted number in candleVllm.replicas and says how to unquote it", () => {
    expect(refusals(withValue(smallStack(), REPLICAS, "1"))).to.deep.equal([
      'llm-serving:candleVllm.replicas = "1": text, which is never read as a number ' +
        "(an integer 0..16, unquoted); " +
        "run: pulumi config rm --path 'llm-serving:candleVllm.replicas' --stack dev && " +
        "pulumi config set --path 'llm-serving:candleVllm.replicas' 1 --stack dev",
    ]);
    expect(refusals(withValue(smallStack(), REPLICAS, 0))).to.deep.equal([]);
  });

  it("B01 refuses text that looks like a number in every numeric key", () => {
    expectRefused(
      numeric,
      ["1", "01", " 2 ", "2.0"].map((text) => [
        text,
        `${JSON.stringify(text)}: text, which is never read as a number`,
      ]),
    );
  });

  it("B02 refuses junk that parseFloat would take in every numeric key", () => {
    expectRefused(
      numeric,
      ["2x", "1,5", "0x2", "1e3", "Infinity", "-1"].map((text) => [
        text,
        `${JSON.stringify(text)}: text, which is never read as a number`,
      ]),
    );
  });

  it("B02 C03 refuses a broken number in every key that counts", () => {
    const counts = numeric.filter(([, field]) => isInteger(field));
    expect(counts).to.have.lengthOf(numeric.length - 3 * 2); // all but the two sizes of a model
    expectRefused(counts, [
      [1.5, "1.5: not a whole number"],
      [0.5, "0.5: not a whole number"],
      [1e-7, "1e-7: not a whole number"],
    ]);
  });

  it("B03 refuses blanks in every numeric key, in gpuNodes[0].cards above all", () => {
    expect(changed(["gpuNodes", 0, "cards"], "")).to.deep.equal([
      'llm-serving:gpuNodes[0].cards = "": blank (an integer 1..16, unquoted); ' +
        "run: pulumi config rm --path 'llm-serving:gpuNodes[0].cards' --stack dev && " +
        "pulumi config set --path 'llm-serving:gpuNodes[0].cards' 4 --stack dev",
    ]);
    expectRefused(numeric, [
      ["", '"": blank'],
      [" ", '" ": blank'],
      [null, "null: blank"],
      [NaN, "NaN: not finite"],
      [Infinity, "Infinity: not finite"],
      [-Infinity, "-Infinity: not finite"],
    ]);
  });

  it("B03 refuses an absent number wherever there is no default", () => {
    const required = [
      "llm-serving:gpuNodes[0].cards",
      "llm-serving:gpuNodes[0].memoryGiB",
      "llm-serving:clefServe.replicas",
      ...["candleVllm", "candleVllmNext", "reasoning"].flatMap((engine) =>
        ["replicas", "tensorParallel"]
          .concat(
            ["heads", "kvHeads", "weightsGiB", "kvKiBPerToken"].map((k) => `model.figures.${k}`),
          )
          .map((key) => `llm-serving:${engine}.${key}`),
      ),
    ];
    const refused = numeric.filter(([path]) => changed(path, undefined).length > 0);
    expect(refused.map(([path]) => keyOf(path))).to.have.members(required);
    for (const [path] of refused) {
      expect(changed(path, undefined)[0]).to.include(`${keyOf(path)} = (not set): required (`);
      expect(refusals(without(fullStack(), path))).to.deep.equal(changed(path, undefined));
    }
  });

  it("B12 refuses counts outside their range in every numeric key", () => {
    const outside: readonly [unknown, string][] = [
      [-1, "-1: outside the range"],
      [5000000000, "5000000000: outside the range"],
      [-2147483649, "-2147483649: outside the range"],
      [1e21, "1e+21: outside the range"],
    ];
    expectRefused(numeric, outside);
    const mayBeZero = numeric.filter(([path]) => changed(path, 0).length === 0);
    expect(mayBeZero.map(([path]) => path.at(-1))).to.deep.equal(Array(4).fill("replicas"));
  });

  it("B12 names the range: replicas 5000000000, tensorParallel 0, -2 and 3, cards 400 and 0", () => {
    const tensorParallel: Path = ["candleVllm", "tensorParallel"];
    const remedy =
      "(1 | 2 | 4, unquoted); " +
      "run: pulumi config set --path 'llm-serving:candleVllm.tensorParallel' 1 --stack dev";
    for (const value of [0, -2, 3]) {
      expect(changed(tensorParallel, value)).to.deep.equal([
        `llm-serving:candleVllm.tensorParallel = ${value}: outside the range ${remedy}`,
      ]);
    }
    expect(changed(REPLICAS, 5000000000)).to.deep.equal([
      "llm-serving:candleVllm.replicas = 5000000000: outside the range (an integer 0..16, " +
        "unquoted); run: pulumi config set --path 'llm-serving:candleVllm.replicas' 1 --stack dev",
    ]);
    for (const value of [400, 0]) {
      expect(changed(["gpuNodes", 0, "cards"], value)).to.deep.equal([
        `llm-serving:gpuNodes[0].cards = ${value}: outside the range (an integer 1..16, ` +
          "unquoted); run: pulumi config set --path 'llm-serving:gpuNodes[0].cards' 4 --stack dev",
      ]);
    }
    expect([1, 2, 4].flatMap((value) => changed(tensorParallel, value))).to.deep.equal([]);
  });

  it("C03 refuses a part of a card in candleVllm.tensorParallel", () => {
    const path: Path = ["candleVllm", "tensorParallel"];
    const key = "'llm-serving:candleVllm.tensorParallel'";
    const set = `pulumi config set --path ${key} 1 --stack dev`;
    expect(changed(path, 0.5)).to.deep.equal([
      `llm-serving:candleVllm.tensorParallel = 0.5: not a whole number (1 | 2 | 4, unquoted); run: ${set}`,
    ]);
    expect(changed(path, "500m")).to.deep.equal([
      'llm-serving:candleVllm.tensorParallel = "500m": text, which is never read as a number ' +
        `(1 | 2 | 4, unquoted); run: pulumi config rm --path ${key} --stack dev && ${set}`,
    ]);
    expectRefused(numeric, [["500m", '"500m": text, which is never read as a number']]);
  });

  it("refuses maps, lists and booleans in every numeric key", () => {
    expectRefused(numeric, [
      [{}, "(a map): not a number"],
      [[], "(a list of 0): not a number"],
      [true, "true: not a number"],
    ]);
  });

  it("stores a size that is not whole as a number, not as text", () => {
    expect(changed(["reasoning", "model", "figures", "weightsGiB"], null)[0]).to.match(
      /run: pulumi config set --path '[^']+weightsGiB' 17.35 --type float --stack dev$/,
    );
  });
});

describe("configuration: booleans", () => {
  it("knows every boolean key", () => {
    expect(boolean.map(([path]) => keyOf(path))).to.deep.equal([
      "llm-serving:cluster.lab",
      "llm-serving:cluster.admissionGuard",
      "llm-serving:coderService.acceptUnready",
      "llm-serving:registry.requireDigests",
      "llm-serving:access.reviewer",
    ]);
  });

  it("B04 refuses False in coderService.acceptUnready (there is no reasoning.enabled)", () => {
    expect(changed(["coderService", "acceptUnready"], "False")).to.deep.equal([
      'llm-serving:coderService.acceptUnready = "False": neither true nor false ' +
        "(true | false, unquoted); " +
        "run: pulumi config rm --path 'llm-serving:coderService.acceptUnready' --stack dev && " +
        "pulumi config set --path 'llm-serving:coderService.acceptUnready' false --stack dev",
    ]);
    expect(changed(["coderService", "acceptUnready"], false)).to.deep.equal([]);
  });

  it("B04 refuses whatever is not true or false in every boolean key", () => {
    expectRefused(boolean, [
      ["false", '"false": neither true nor false'],
      ["true", '"true": neither true nor false'],
      ["False", '"False": neither true nor false'],
      ["no", '"no": neither true nor false'],
      [0, "0: neither true nor false"],
      [1, "1: neither true nor false"],
      ["", '"": blank'],
      [null, "null: blank"],
      [[], "(a list of 0): neither true nor false"],
    ]);
  });

  it("refuses cluster.lab = false, which would mean neither a lab nor a cluster", () => {
    const lines = refusals(withValue(smallStack(), ["cluster", "lab"], false));
    expect(lines).to.deep.equal([
      "llm-serving:cluster.lab = false: only true is possible (true, or leave it out and state " +
        "uid); run: pulumi config rm --path 'llm-serving:cluster.lab' --stack dev",
    ]);
  });
});

describe("configuration: a whole stack", () => {
  it("accepts the smallest stack and fills in every default", () => {
    const config = parseStackConfig(smallStack(), "dev");
    const workload = {
      replicas: 0,
      node: "worker-1",
      coldStartSeconds: 240,
      graceSeconds: 60,
      hostMemoryGiB: 16,
      cpu: 4,
      rollout: "recreate",
      env: {},
    };
    const engine = {
      ...workload,
      tensorParallel: 1,
      contextTokens: 32768,
      maxSequences: 8,
      model: { name: "qwen3-30b-a3b-q4_k_m", source: { gguf: "/models/coder.gguf" } },
    };
    expect(config).to.deep.equal({
      cluster: { context: "platform-onprem", lab: true, admissionGuard: true },
      gpuNodes: [{ name: "worker-1", cards: 4, memoryGiB: 32 }],
      clefServe: { ...workload, bootstrap: "install" },
      candleVllm: engine,
      candleVllmNext: engine,
      reasoning: engine,
      coderService: { backend: "candle-vllm", acceptUnready: false },
      registry: { maxLayerMiB: 100, requireDigests: true, push: undefined },
      access: { reviewer: false, clients: [] },
    });
  });

  it("keeps every value of a stack that states them all", () => {
    expect(parseStackConfig(fullStack(), "dev")).to.deep.equal(fullStack());
  });

  it("pushes to registry.pull unless registry.push says otherwise", () => {
    const stack = without(fullStack(), ["registry", "push"]);
    expect(parseStackConfig(stack, "dev").registry.push).to.equal("registry.example/llm");
  });

  it("B11 refuses an empty stack, whatever its name, and lists every missing key", () => {
    const lines = refusals({});
    expect(lines.map((line) => line.split(": ")[0])).to.deep.equal([
      "llm-serving:cluster = (not set)",
      "llm-serving:gpuNodes = (not set)",
      "llm-serving:clefServe = (not set)",
      "llm-serving:candleVllm = (not set)",
      "llm-serving:candleVllmNext = (not set)",
      "llm-serving:reasoning = (not set)",
      "llm-serving:coderService = (not set)",
    ]);
    expect(lines[6]).to.equal(
      "llm-serving:coderService = (not set): required (a map with backend); " +
        "write llm-serving:coderService: {backend: candle-vllm} under config in Pulumi.dev.yaml",
    );
  });

  it("lists every problem at once, in the order of the schema", () => {
    expect(() =>
      parseStackConfig(
        { ...smallStack(), stray: 1, coderService: {}, gpuNodes: [], clefServe: { replicas: "x" } },
        "prod",
      ),
    ).to.throw(
      /^Pulumi\.prod\.yaml: 4 problems, nothing was changed\.\n {2}llm-serving:gpuNodes = .*\n {2}llm-serving:clefServe\.replicas = .*\n {2}llm-serving:coderService\.backend = .*\n {2}llm-serving:stray = .*$/,
    );
  });
});
