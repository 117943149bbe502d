import { expect } from "chai";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PublishError } from "../../publish/publishError.ts";
import { registryOf } from "../../publish/registryOf.ts";

describe("registry of a stack", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "llm-serving-registry-"));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  const registry = (keys: Readonly<Record<string, unknown>>) => {
    const config = { "llm-serving:registry": keys, "llm-serving:clefServe": { replicas: 1 } };
    writeFileSync(join(folder, "Pulumi.test.yaml"), JSON.stringify({ config }));
    return registryOf("test", folder);
  };

  it("is pushed to at pull unless push says otherwise, whatever else the stack lacks", () => {
    const pull = "registry.example/llm";
    expect(registry({ pull })).to.deep.equal({ pull, push: pull, maxLayerMiB: 100 });
    const push = "10.0.0.7:5000/llm";
    expect(registry({ pull, push, maxLayerMiB: 10_240 })).to.deep.equal({
      pull,
      push,
      maxLayerMiB: 10_240,
    });
  });

  it("is asked for where the stack does not state it, as the committed prod does not", () => {
    for (const ask of [() => registry({ maxLayerMiB: 5 }), () => registryOf("prod")]) {
      expect(ask).to.throw(
        PublishError,
        /^llm-serving:registry\.pull is not set: .*; run: pulumi config set --path 'llm-serving:registry\.pull' registry\.example\/llm --stack (test|prod)$/,
      );
    }
  });

  it("is refused by the rules of the preview, every problem of it and nothing else", () => {
    expect(() => registry({ pull: "https://x", maxLayerMiB: 0 }))
      .to.throw(PublishError)
      .with.property("message")
      .that.match(
        /^llm-serving:registry\.pull = .*\nllm-serving:registry\.maxLayerMiB = 0: [^\n]*$/,
      );
  });

  it("begins with a host for every client, also where its name has no dot", () => {
    expect(registry({ pull: "registry.example/llm", push: "registry-direct/llm" })).to.include({
      pull: "registry.example/llm",
      push: "registry-direct:443/llm",
    });
    expect(registry({ pull: "registry-direct" }).pull).to.equal("registry-direct:443");
    for (const pull of ["localhost/llm", "registry-direct:5000/llm", "registry.example"]) {
      expect(registry({ pull }).pull).to.equal(pull);
    }
  });

  it("names the file that is missing or no YAML, without a stack trace", () => {
    expect(() => registryOf("nope", folder)).to.throw(
      PublishError,
      /^Pulumi\.nope\.yaml: cannot be read: ENOENT: .*; name a stack whose file can/,
    );
    writeFileSync(join(folder, "Pulumi.test.yaml"), "config: {a: [}\n");
    expect(() => registryOf("test", folder)).to.throw(
      PublishError,
      /^Pulumi\.test\.yaml: cannot be read: [^\n]+; name/,
    );
    writeFileSync(join(folder, "Pulumi.test.yaml"), "");
    expect(() => registryOf("test", folder)).to.throw(PublishError, "registry.pull is not set");
  });
});
