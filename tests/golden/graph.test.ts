import { expect } from "chai";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { type Program, completed, runProgram, stackFile } from "../support/program.ts";
import { deploymentSpec, objectOf, serviceSpec } from "../support/objects.ts";

const UPDATE = process.env.UPDATE_GOLDEN === "1";

/** The committed graph of a stack: every URN with its inputs and options, and the outputs. */
function goldenFile(stack: string): URL {
  return new URL(`${stack}.json`, import.meta.url);
}

const URN_PREFIX = /^urn:pulumi:\w+::llm-serving::/;

function graphOf({ resources, outputs }: Program): unknown {
  const entries = resources.map(({ urn, inputs, options }) => [
    urn.replace(URN_PREFIX, ""),
    { ...inputs, ...(Object.keys(options).length === 0 ? {} : { "(options)": options }) },
  ]);
  return JSON.parse(JSON.stringify({ resources: Object.fromEntries(entries) as object, outputs }));
}

for (const stack of ["dev", "prod"]) {
  describe(`resource graph of ${stack}`, () => {
    let program: Program;
    before(async () => {
      program = await runProgram(stack, completed(stackFile(stack)));
    });

    it("equals the committed graph (UPDATE_GOLDEN=1 writes it)", () => {
      const file = goldenFile(stack);
      const graph = graphOf(program);
      if (UPDATE) writeFileSync(file, `${JSON.stringify(graph, null, 2)}\n`);
      expect(existsSync(file), `${file.pathname}: write it with \`make golden\``).to.equal(true);
      expect(graph).to.deep.equal(JSON.parse(readFileSync(file, "utf8")));
    });

    it("A03 gives every Kubernetes resource the one explicit provider", () => {
      const objects = program.resources.filter(({ urn }) => urn.includes("$kubernetes:"));
      // Namespace, the two objects of the admission guard, ConfigMap, four Deployments and three Services.
      expect(objects).to.have.length(11);
      for (const { urn, options } of objects) expect(options.provider, urn).to.equal("cluster");
      const providers = program.resources.filter(({ urn }) => urn.includes("pulumi:providers:"));
      expect(providers).to.have.length(1);
      expect(providers[0]?.inputs).to.deep.equal({
        clusterIdentifier: "llm-serving",
        context: stack === "dev" ? "llm-lab" : "platform-onprem",
      });
    });

    it("A03 disables default providers in the stack file", () => {
      expect(stackFile(stack)["pulumi:disable-default-providers"]).to.deep.equal(["kubernetes"]);
    });

    it("guards coder-predictor and the namespace by protect, retainOnDelete, ignored addresses and the hook", () => {
      const { options } = objectOf(program.resources, "core/v1:Service", "coder-predictor");
      expect(options).to.deep.equal({
        protect: true,
        retainOnDelete: true,
        ignoreChanges: ["spec.clusterIP", "spec.clusterIPs"],
        provider: "cluster",
        hooks: ["coder-predictor-is-never-deleted"],
      });
      const { options: namespace } = objectOf(
        program.resources,
        "core/v1:Namespace",
        "llm-serving",
      );
      expect(namespace).to.deep.equal({
        protect: true,
        retainOnDelete: true,
        provider: "cluster",
        hooks: ["coder-predictor-is-never-deleted"],
      });
    });

    it("lets each Service select the pods of exactly one Deployment", () => {
      const names = ["clef-serve", "candle-vllm", "candle-vllm-next", "reasoning"];
      const selected = (service: string): string[] => {
        const { selector } = serviceSpec(program.resources, service);
        const labels = (name: string) =>
          deploymentSpec(program.resources, name).template.metadata.labels;
        return names.filter((name) =>
          Object.entries(selector).every(([key, value]) => labels(name)[key] === value),
        );
      };
      expect(selected("coder-predictor")).to.deep.equal(["candle-vllm"]);
      expect(selected("clef-serve")).to.deep.equal(["clef-serve"]);
      expect(selected("reasoning-long")).to.deep.equal(["reasoning"]);
    });

    it("C04 C12 asks for whole cards, requests equal to limits, and sets no *_VISIBLE_DEVICES", () => {
      const deployments = program.resources.filter(({ urn }) => urn.includes("v1:Deployment"));
      expect(deployments).to.have.length(4);
      for (const { urn } of deployments) {
        const { spec } = deploymentSpec(program.resources, urn.split("::").at(-1) ?? "").template;
        expect(spec.initContainers, urn).to.equal(undefined);
        for (const { resources } of spec.containers) {
          const cards = resources?.limits?.["nvidia.com/gpu"];
          expect(cards, urn).to.match(/^[124]$/);
          expect(resources?.requests?.["nvidia.com/gpu"], urn).to.equal(cards);
        }
      }
      expect(JSON.stringify(program.resources)).to.not.include("VISIBLE_DEVICES");
    });

    it("outputs the allocation of the change that this project continues", () => {
      expect(program.outputs.gpuAllocation).to.deep.equal({
        "worker-1": { cards: 4, used: { "clef-serve": 1, "candle-vllm": 1 }, free: 2 },
      });
      expect(program.outputs.workloads).to.deep.equal({
        "clef-serve": "running",
        "candle-vllm": "running",
        "candle-vllm-next": "parked",
        reasoning: "parked",
      });
      expect(program.outputs.routes).to.deep.equal({ "/v1/systemone": "on" });
      expect(program.outputs.coderBaseUrl).to.equal(
        "http://coder-predictor.llm-serving.svc.cluster.local/v1",
      );
    });
  });
}

describe("the prod stack as shipped", () => {
  it("is refused with the commands that set its images and its cluster's uid", async () => {
    let message = "";
    try {
      await runProgram("prod", stackFile("prod"));
    } catch (error) {
      message = String(error);
    }
    expect(message).to.include("llm-serving:clefServe.image");
    expect(message).to.include("llm-serving:candleVllm.image");
    expect(message).to.include("--stack prod");
    expect(message).to.include("llm-serving:cluster");
    expect(message).to.not.include("llm-serving:reasoning.image");
  });
});
