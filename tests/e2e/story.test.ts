import { expect } from "chai";
import {
  cardsBound,
  clusterIdentityOf,
  eventually,
  kubectlJson,
  pulumi,
  type ServiceIdentity,
  useLab,
} from "../support/lab.ts";
import { type StackCopy, stackCopy } from "../support/stackCopy.ts";

interface Outputs {
  readonly gpuAllocation: Readonly<
    Record<string, { cards: number; used: Record<string, number>; free: number }>
  >;
  readonly workloads: Readonly<Record<string, string>>;
  readonly routes: Readonly<Record<string, string>>;
  readonly coderClusterIP: string;
}

// The change that this project continues, told through the real CLI, provider, API server and scheduler.
describe("the dev stack on a lab", function () {
  this.timeout(300_000);
  const lab = useLab("test-story");
  let file: StackCopy;
  let identity: ServiceIdentity;
  before(() => {
    file = stackCopy("dev");
  });
  after(() => {
    file.remove();
  });

  const stack = (...args: string[]) =>
    pulumi(lab(), [...args, "--stack=dev"], { configFile: file.path });

  /** Applies edits, then checks what must hold after each: outputs, bound cards, the Service's identity. */
  async function applied(edits: Record<string, unknown>): Promise<Outputs> {
    file.edit(edits);
    const up = await stack("up", "--yes", "--skip-preview");
    expect(up.code, up.stdout + up.stderr).to.equal(0);
    const printed = await pulumi(lab(), ["stack", "output", "--json", "--stack=dev"]);
    const outputs = JSON.parse(printed.stdout) as Outputs;
    // The scheduler's own sums; terminating pods take a moment to go.
    await eventually(async () => {
      const used = Object.fromEntries(
        Object.entries(outputs.gpuAllocation).map(([node, { used: cards }]) => [node, cards]),
      );
      expect(await cardsBound(lab())).to.deep.equal(used);
      return true;
    });
    expect(await clusterIdentityOf(lab(), "coder-predictor")).to.deep.equal(identity);
    expect(outputs.coderClusterIP).to.equal(identity.clusterIP);
    return outputs;
  }

  it("comes up from nothing: 19 resources, the allocation bound by the real scheduler", async () => {
    const up = await stack("up", "--yes", "--skip-preview");
    expect(up.code, up.stdout + up.stderr).to.equal(0);
    expect(up.stdout).to.include("19 created");
    identity = await clusterIdentityOf(lab(), "coder-predictor");
    const outputs = await applied({});
    expect(outputs.gpuAllocation).to.deep.equal({
      "worker-1": { cards: 4, used: { "clef-serve": 1, "candle-vllm": 1 }, free: 2 },
    });
  });

  it("changes nothing in a second up", async () => {
    const up = await stack("up", "--yes", "--skip-preview");
    expect(up.code, up.stdout + up.stderr).to.equal(0);
    expect(up.stdout).to.match(/Resources:\n\s+19 unchanged\n/);
    const preview = await stack("preview", "--expect-no-changes");
    expect(preview.code, preview.stdout + preview.stderr).to.equal(0);
  });

  it("answers coder-predictor on the pod of candle-vllm, both ports on 8080", async () => {
    const slices = (await kubectlJson(
      lab(),
      "get",
      "endpointslices",
      "--namespace=llm-serving",
      "--selector=kubernetes.io/service-name=coder-predictor",
    )) as {
      items: {
        ports: { port: number }[];
        endpoints: { targetRef: { name: string }; conditions: { serving: boolean } }[];
      }[];
    };
    expect(slices.items).to.have.length(1);
    expect(slices.items[0]?.ports.map(({ port }) => port)).to.deep.equal([8080, 8080]);
    expect(slices.items[0]?.endpoints).to.have.length(1);
    expect(slices.items[0]?.endpoints[0]?.targetRef.name).to.match(/^candle-vllm-/);
    expect(slices.items[0]?.endpoints[0]?.conditions.serving).to.equal(true);
  });

  it("parks clef-serve and says that its route is off", async () => {
    const outputs = await applied({ "clefServe.replicas": 0 });
    expect(outputs.routes).to.deep.equal({ "/v1/systemone": "off" });
    expect(outputs.workloads["clef-serve"]).to.equal("parked");
    expect(outputs.gpuAllocation["worker-1"]).to.deep.equal({
      cards: 4,
      used: { "candle-vllm": 1 },
      free: 3,
    });
  });

  it("turns the route on by clef-serve's replica count alone, 0 to 1", async () => {
    const outputs = await applied({ "clefServe.replicas": 1 });
    expect(outputs.routes).to.deep.equal({ "/v1/systemone": "on" });
    expect(outputs.workloads["clef-serve"]).to.equal("running");
  });

  it("gives the coder a second card by tensorParallel alone, 1 to 2", async () => {
    const outputs = await applied({ "candleVllm.tensorParallel": 2 });
    expect(outputs.gpuAllocation["worker-1"]).to.deep.equal({
      cards: 4,
      used: { "clef-serve": 1, "candle-vllm": 2 },
      free: 1,
    });
  });

  it("fills the node with reasoning, then parks it", async () => {
    const full = await applied({ "reasoning.replicas": 1 });
    expect(full.gpuAllocation["worker-1"]?.free).to.equal(0);
    const parked = await applied({ "reasoning.replicas": 0 });
    expect(parked.workloads.reasoning).to.equal("parked");
    expect(parked.gpuAllocation["worker-1"]?.used).to.deep.equal({
      "clef-serve": 1,
      "candle-vllm": 2,
    });
  });

  it("refuses a fifth card in the preview, naming the key", async () => {
    file.edit({ "reasoning.replicas": 2 });
    const preview = await stack("preview");
    file.edit({ "reasoning.replicas": 0 });
    expect(preview.code).to.not.equal(0);
    expect(preview.stdout + preview.stderr).to.include("worker-1 is asked for 5 cards");
  });
});
