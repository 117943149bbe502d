import { expect } from "chai";
import { MODELS } from "../../gpu/models.ts";
import type { Path } from "../../config/fields.ts";
import { parseStackConfig } from "../../config/parse.ts";
import { DIGEST, fullStack, refusals, smallStack, withValue, without } from "./configFixtures.ts";

const set = (key: string, words: string) =>
  `run: pulumi config set --path 'llm-serving:${key}' ${words} --stack dev`;
const remove = (key: string) => `run: pulumi config rm --path 'llm-serving:${key}' --stack dev`;
const WORKLOADS = ["clefServe", "candleVllm", "candleVllmNext", "reasoning"];

describe("configuration: cluster", () => {
  it("refuses neither uid nor lab, with the command that looks the uid up", () => {
    expect(refusals(without(smallStack(), ["cluster", "lab"]))).to.deep.equal([
      "llm-serving:cluster.uid = (not set): neither uid nor lab is set (exactly one of uid and " +
        "lab); run: pulumi config set --path 'llm-serving:cluster.uid' \"$(kubectl --context " +
        'platform-onprem get namespace kube-system -o jsonpath={.metadata.uid})" --stack dev',
    ]);
  });

  it("refuses both", () => {
    expect(refusals(withValue(fullStack(), ["cluster", "lab"], true))).to.deep.equal([
      "llm-serving:cluster.lab = true: uid is set too (exactly one of uid and lab); " +
        remove("cluster.lab"),
    ]);
  });

  it("accepts either", () => {
    expect(refusals(fullStack())).to.deep.equal([]);
    expect(refusals(smallStack())).to.deep.equal([]);
  });
});

describe("configuration: nodes", () => {
  it("refuses two nodes of one name", () => {
    expect(refusals(withValue(fullStack(), ["gpuNodes", 1, "name"], "worker-1"))).to.deep.equal([
      'llm-serving:gpuNodes[1].name = "worker-1": listed twice (each once); change or remove one ' +
        "of them in Pulumi.dev.yaml",
    ]);
  });

  it("wants a node of each workload when there are several", () => {
    for (const workload of WORKLOADS) {
      expect(refusals(without(fullStack(), [workload, "node"]))).to.deep.equal([
        `llm-serving:${workload}.node = (not set): required, as there are several nodes ` +
          `(worker-1 | worker-2); ${set(`${workload}.node`, "worker-1")}`,
      ]);
    }
  });

  it("takes the only node by itself, and refuses any other", () => {
    expect(parseStackConfig(smallStack(), "dev").reasoning.node).to.equal("worker-1");
    expect(refusals(withValue(smallStack(), ["reasoning", "node"], "worker-l"))).to.deep.equal([
      'llm-serving:reasoning.node = "worker-l": no node of llm-serving:gpuNodes (worker-1); ' +
        set("reasoning.node", "worker-1"),
    ]);
  });

  it("says nothing of nodes while gpuNodes itself is refused", () => {
    const stack = withValue(fullStack(), ["gpuNodes", 0, "name"], 5);
    expect(refusals(stack)).to.have.lengthOf(1);
  });

  it("takes 16 nodes, and no 17th", () => {
    const nodes = Array.from({ length: 17 }, (_, at) => ({
      name: `worker-${at + 1}`,
      cards: 16,
      memoryGiB: 80,
    }));
    const stack = fullStack();
    expect(refusals(withValue(stack, ["gpuNodes"], nodes.slice(0, 16)))).to.deep.equal([]);
    for (const list of [nodes, []]) {
      expect(refusals(withValue(stack, ["gpuNodes"], list))).to.deep.equal([
        `llm-serving:gpuNodes = (a list of ${list.length}): too few or too many entries (a list ` +
          "of 1..16 nodes); write llm-serving:gpuNodes: [{name: worker-1, cards: 4, memoryGiB: " +
          "32}] under config in Pulumi.dev.yaml",
      ]);
    }
  });
});

describe("configuration: images and packages", () => {
  it("refuses a running workload without an image, with the command that sets it", () => {
    const names = ["clef-serve", "candle-vllm", "candle-vllm", "vllm"];
    for (const [at, workload] of WORKLOADS.entries()) {
      expect(refusals(withValue(smallStack(), [workload, "replicas"], 2))).to.deep.equal([
        `llm-serving:${workload}.image = (not set): required while replicas is 2 ` +
          "(repo@sha256:<64 hex>); " +
          set(`${workload}.image`, `'registry.example/llm/${names[at] ?? ""}@sha256:<64 hex>'`),
      ]);
    }
  });

  it("prints that command for the stack it is about", () => {
    expect(() =>
      parseStackConfig(withValue(smallStack(), ["candleVllm", "replicas"], 1), "prod"),
    ).to.throw(
      "pulumi config set --path 'llm-serving:candleVllm.image' " +
        "'registry.example/llm/candle-vllm@sha256:<64 hex>' --stack prod",
    );
  });

  it("wants packagesClaim when the packages are prepared, and only then", () => {
    const prepared = withValue(smallStack(), ["clefServe", "bootstrap"], "prepared");
    expect(refusals(prepared)).to.deep.equal([
      "llm-serving:clefServe.packagesClaim = (not set): required while bootstrap is prepared (a " +
        "PersistentVolumeClaim with the installed packages); " +
        set("clefServe.packagesClaim", "clef-packages"),
    ]);
    expect(refusals(withValue(prepared, ["clefServe", "packagesClaim"], "x"))).to.deep.equal([]);
    expect(refusals(withValue(smallStack(), ["clefServe", "bootstrap"], "image"))).to.be.empty;
  });
});

describe("configuration: models", () => {
  const model: Path = ["candleVllm", "model"];

  it("refuses a name that the table does not know, unless figures are stated", () => {
    const name = [...model, "name"];
    expect(refusals(withValue(smallStack(), name, "qwen3-coder-next"))).to.deep.equal([
      'llm-serving:candleVllm.model.name = "qwen3-coder-next": not in the model table, and ' +
        "figures is not set (qwen3-30b-a3b-q4_k_m | qwen3-30b-a3b-f16 | qwen3-coder-next-q4, or " +
        `any name with figures); ${set("candleVllm.model.name", "qwen3-coder-next-q4")}`,
    ]);
    for (const inherited of ["constructor", "toString"]) {
      expect(refusals(withValue(smallStack(), name, inherited))).to.have.lengthOf(1);
    }
    for (const known of Object.keys(MODELS)) {
      expect(refusals(withValue(smallStack(), name, known))).to.deep.equal([]);
    }
    expect(refusals(withValue(fullStack(), name, "anything"))).to.deep.equal([]);
  });

  it("wants exactly one source", () => {
    const source = [...model, "source"];
    const rule = "(exactly one of hub, folder, gguf)";
    expect(refusals(withValue(smallStack(), source, {}))).to.deep.equal([
      `llm-serving:candleVllm.model.source = (a map): no source is set ${rule}; ` +
        set("candleVllm.model.source.gguf", "/models/coder.gguf"),
    ]);
    expect(refusals(withValue(smallStack(), [...source, "hub"], "a/b"))).to.deep.equal([
      `llm-serving:candleVllm.model.source = (a map): hub and gguf are set ${rule}; keep one of ` +
        "them in Pulumi.dev.yaml",
    ]);
    for (const only of [{ hub: "a/b" }, { folder: "/models/a" }, { gguf: "/models/a.gguf" }]) {
      const config = parseStackConfig(withValue(smallStack(), source, only), "dev");
      expect(config.candleVllm.model.source).to.deep.equal(only);
    }
  });

  it("takes only paths below /models and ids of the form org/name", () => {
    const refused = (kind: string, value: string) =>
      refusals(withValue(smallStack(), [...model, "source"], { [kind]: value })).length > 0;
    const paths = ["/models/a", "/models/a/b.gguf", "/models/a..b", "/models/..a"];
    expect(paths.map((path) => refused("gguf", path))).to.deep.equal([false, false, false, false]);
    for (const path of ["models/a", "/models", "/models/", "/models//a", "/etc/a", "/modelsx/a"]) {
      expect(refused("folder", path), path).to.equal(true);
    }
    for (const path of ["/models/../etc", "/models/a/..", "/models/./a", "/models/a b"]) {
      expect(refused("gguf", path), path).to.equal(true);
    }
    for (const id of ["a", "a/b/c", "/a", "a/", "a/.b", "https://a/b"]) {
      expect(refused("hub", id), id).to.equal(true);
    }
    expect(refused("hub", "Qwen/Qwen3-30B-A3B")).to.equal(false);
  });

  it("refuses isq beside a GGUF file, and takes it beside the others", () => {
    expect(refusals(withValue(smallStack(), [...model, "isq"], "q4k"))).to.deep.equal([
      'llm-serving:candleVllm.model.isq = "q4k": a GGUF file is quantised already, and ' +
        `candle-vllm panics (isq only with hub or folder); ${remove("candleVllm.model.isq")}`,
    ]);
    expect(refusals(withValue(fullStack(), [...model, "isq"], "q8_0"))).to.deep.equal([]);
  });

  it("refuses isq for vLLM, which serves reasoning", () => {
    expect(refusals(withValue(fullStack(), ["reasoning", "model", "isq"], "q4k"))).to.deep.equal([
      'llm-serving:reasoning.model.isq = "q4k": vLLM does not quantise while loading (for candle ' +
        `only); ${remove("reasoning.model.isq")}`,
    ]);
  });
});

describe("configuration: access", () => {
  it("refuses a client that is named twice or is no namespace", () => {
    const clients = (...names: unknown[]) =>
      refusals(withValue(smallStack(), ["access"], { clients: names }));
    expect(clients("a", "b")).to.deep.equal([]);
    expect(clients("a", "a")).to.deep.equal([
      'llm-serving:access.clients[1] = "a": listed twice (each once); change or remove one of ' +
        "them in Pulumi.dev.yaml",
    ]);
    expect(clients("a.b")).to.deep.equal([
      'llm-serving:access.clients[0] = "a.b": not of the allowed form (a namespace name); ' +
        set("access.clients[0]", "poimen-memory"),
    ]);
  });
});

describe("configuration: several problems of one key", () => {
  it("reports the cause and not what follows from it", () => {
    const broken = withValue(fullStack(), ["candleVllm", "image"], `x:1${DIGEST}`);
    expect(refusals(withValue(broken, ["candleVllm", "replicas"], "1"))).to.have.lengthOf(2);
    expect(refusals(withValue(fullStack(), ["candleVllm"], "1"))).to.have.lengthOf(1);
  });

  it("lets one bad value hide no other problem of its workload", () => {
    const running = withValue(smallStack(), ["candleVllm", "replicas"], 1);
    const lines = refusals(withValue(running, ["candleVllm", "cpu"], "4"));
    expect(lines.map((line) => line.split(" = ")[0])).to.deep.equal([
      "llm-serving:candleVllm.cpu",
      "llm-serving:candleVllm.image",
    ]);
  });
});
