import { expect } from "chai";
import { join, resolve } from "node:path";
import { Victim } from "../attacks/victim.ts";
import { textOf } from "../support/devStack.ts";
import { useLab } from "../support/lab.ts";

const PACK = resolve(import.meta.dirname, "..", "..", "policy");

/** An object whose variable only the update will know. */
const UNKNOWN_VALUE = `
import { Deployment } from "@pulumi/kubernetes/apps/v1/deployment.js";
import { ConfigMap } from "@pulumi/kubernetes/core/v1/configMap.js";
const fresh = new ConfigMap("fresh", { metadata: { namespace: "llm-serving" } }, { provider });
const env = [{ name: "PLAIN", value: fresh.id }];
const labels = { app: "odd" };
new Deployment(
  "odd",
  {
    metadata: { name: "odd", namespace: "llm-serving" },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "odd", image: "x", env }] } },
    },
  },
  { provider },
);
`;

// The pack as a user runs it: the real CLI loads it, and a violation fails the preview.
describe("policy pack through the CLI", function () {
  this.timeout(300_000);
  const lab = useLab("test-policy");
  let victim: Victim;
  before(async () => {
    victim = await Victim.on(lab());
  });
  after(async () => victim.remove());
  afterEach(async () => victim.undoEdits());

  async function preview() {
    const outcome = await victim.preview(`--policy-pack=${PACK}`);
    return { code: outcome.code, text: textOf(outcome) };
  }

  it("passes the program as it is", async () => {
    const { code, text } = await preview();
    expect(code, text).to.equal(0);
    expect(text).to.match(/Policies:\n +✅ llm-serving@v1\.0\.0/);
  });

  it("A17 fails the preview of a dropped protect, which the engine lets pass", async () => {
    await victim.edit({
      file: join("components", "guards.ts"),
      from: "return { protect: true, retainOnDelete: true,",
      to: "return { protect: false, retainOnDelete: true,",
    });
    const without = await victim.preview();
    expect(without.code, textOf(without)).to.equal(0);
    const { code, text } = await preview();
    expect(code, text).not.to.equal(0);
    expect(text.match(/\[mandatory\] +never-unprotected .*/g), text).to.have.length(2);
  });

  it("fails the preview of a selector that matches nothing, a plain secret and a value not known", async () => {
    await victim.edit({
      file: join("components", "coderPredictor.ts"),
      from: "selector: { app: backend }",
      to: 'selector: { app: "nobody" }',
    });
    await victim.edit({
      file: join("components", "gpuDeployment.ts"),
      from: '{ name: "HOME", value: HOME },',
      to: '{ name: "HOME", value: HOME }, { name: "API_TOKEN", value: "canary123" },',
    });
    await victim.append("index.ts", UNKNOWN_VALUE);
    const { code, text } = await preview();
    expect(code, text).not.to.equal(0);
    expect(text).to.match(/\[mandatory\] +one-workload-per-service /);
    expect(text).to.include("Service coder-predictor: spec.selector = {app: nobody}: matches no");
    expect(text).to.include("container server: env API_TOKEN = (hidden): the name is a secret's");
    expect(text).to.include("can't be known during preview, so that this rule cannot be judged");
    expect(text).not.to.include("[advisory]").and.not.to.include("canary123");
  });
});
