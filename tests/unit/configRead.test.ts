import { expect } from "chai";
import * as pulumi from "@pulumi/pulumi";
import { readConfig } from "../../config.ts";
import { fullStack, smallStack, withValue, without } from "./configFixtures.ts";

/** Gives Pulumi a stack's configuration as its engine does: maps and lists as JSON. */
function configure(stack: Readonly<Record<string, unknown>>, more: Record<string, string> = {}) {
  const own = Object.entries(stack).map(([name, value]) => [
    `llm-serving:${name}`,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  pulumi.runtime.setAllConfig({ ...(Object.fromEntries(own) as Record<string, string>), ...more });
}

describe("readConfig", () => {
  before(async () => {
    const nothing = { newResource: () => ({ id: "", state: {} }), call: () => ({}) };
    await pulumi.runtime.setMocks(nothing, "llm-serving", "prod");
  });

  afterEach(() => {
    delete process.env.PULUMI_CONFIG_SECRET_KEYS;
    pulumi.runtime.setAllConfig({});
  });

  it("returns the stack's configuration and ignores other namespaces", () => {
    configure(fullStack(), { "kubernetes:candleVllm": "1", "pulumi:tags": '{"a": "b"}' });
    expect(readConfig()).to.deep.equal(fullStack());
  });

  it("throws one RunError with every problem, for the stack it runs in", () => {
    configure(withValue(without(smallStack(), ["reasoning"]), ["clefServe", "replicas"], "1"));
    expect(readConfig).to.throw(
      pulumi.RunError,
      /^Pulumi\.prod\.yaml: 2 problems, nothing was changed\.\n {2}llm-serving:clefServe\.replicas = "1": .* --stack prod\n {2}llm-serving:reasoning = \(not set\): required/,
    );
  });

  it("B08 tells a missing key from one that another namespace got", () => {
    configure(without(smallStack(), ["candleVllm"]), { "kubernetes:candleVllm": "{}" });
    expect(readConfig).to.throw(
      pulumi.RunError,
      "llm-serving:candleVllm = (not set): required, and kubernetes:candleVllm is set",
    );
  });

  it("B11 refuses a stack with nothing set", () => {
    expect(readConfig).to.throw(pulumi.RunError, /^Pulumi\.prod\.yaml: 7 problems/);
  });

  it("refuses a key of its own that holds something encrypted, and leaves others theirs", () => {
    configure(smallStack());
    process.env.PULUMI_CONFIG_SECRET_KEYS = '["kubernetes:token"]';
    expect(readConfig).not.to.throw();
    process.env.PULUMI_CONFIG_SECRET_KEYS = '["kubernetes:token", "llm-serving:candleVllm"]';
    expect(readConfig).to.throw(pulumi.RunError, "llm-serving:candleVllm = (encrypted): ");
  });

  it("takes a scalar or broken JSON where a map belongs for what it is", () => {
    configure({ ...smallStack(), clefServe: "1", reasoning: "{", coderService: "" });
    expect(readConfig).to.throw(
      pulumi.RunError,
      /llm-serving:clefServe = "1": not a map .*\n.*llm-serving:reasoning = "\{": not a map .*\n.*llm-serving:coderService = "": blank /,
    );
  });
});
