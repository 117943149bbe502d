import { expect } from "chai";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StackFileError } from "../../config/stackFile.ts";
import { PublishError } from "../../publish/publishError.ts";
import { registryOf } from "../../publish/registryOf.ts";
import { stackSections } from "../../publish/stackSections.ts";

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
    return registryOf(stackSections("test", folder), "test");
  };

  it("is pushed to at pull unless push says otherwise, whatever else the stack lacks", () => {
    const pull = "registry.example/llm";
    expect(registry({ pull })).to.deep.equal({
      pull,
      push: pull,
      pushKey: "llm-serving:registry.pull",
      maxLayerMiB: 100,
    });
    const push = "10.0.0.7:5000/llm";
    expect(registry({ pull, push, maxLayerMiB: 10_240 })).to.deep.equal({
      pull,
      push,
      pushKey: "llm-serving:registry.push",
      maxLayerMiB: 10_240,
    });
  });

  it("is asked for where the stack does not state it, as the committed prod does not", () => {
    for (const ask of [
      () => registry({ maxLayerMiB: 5 }),
      () => registryOf(stackSections("prod"), "prod"),
    ]) {
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

  it("takes a port that exists, and says what is wrong with any other", () => {
    for (const port of [1, 443, 5000, 59_999, 65_535]) {
      const pull = `registry.example:${port}/llm`;
      expect(registry({ pull }).pull).to.equal(pull);
    }
    for (const port of [0, 65_536, 65_540, 65_600, 66_000, 70_000, 99_999]) {
      const push = `registry.example:${port}/llm`;
      expect(() => registry({ pull: "registry.example/llm", push })).to.throw(
        PublishError,
        `llm-serving:registry.push = "${push}": a port is 1..65535 (host/path without tag); run: `,
      );
    }
  });

  it("is refused with a login in it, whose password is not printed", () => {
    for (const password of ["canary", "can:ary", "can/ary", "can@ary"]) {
      expect(() => registry({ push: `user:${password}@registry.example/llm` }))
        .to.throw(
          PublishError,
          'registry.push = "user:(hidden)@registry.example/llm": holds a login, which docker login keeps, or a digest',
        )
        .with.property("message")
        .that.does.not.include("ary");
    }
    const push = `registry.example:5000/llm@sha256:${"a".repeat(8)}`;
    expect(() => registry({ push })).to.throw(PublishError, `= "${push}": holds a login`);
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
    expect(() => stackSections("nope", folder)).to.throw(
      StackFileError,
      /^STACK = nope: there is no Pulumi\.nope\.yaml \(none\); set STACK=dev$/,
    );
    writeFileSync(join(folder, "Pulumi.test.yaml"), "config: {a: [}\n");
    expect(() => stackSections("test", folder)).to.throw(
      StackFileError,
      /^Pulumi\.test\.yaml, line 1, column 14: no YAML \([^\n]+\); correct it there$/,
    );
    writeFileSync(join(folder, "Pulumi.test.yaml"), "");
    expect(() => registryOf(stackSections("test", folder), "test")).to.throw(
      PublishError,
      "registry.pull is not set",
    );
  });
});
