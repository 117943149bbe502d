import { expect } from "chai";
import type { ManagedFields } from "../../cluster/byHand.ts";
import type { ClusterFacts, LiveObject } from "../../cluster/facts.ts";
import { facts, judged, live } from "./clusterFixtures.ts";

/** Who the API server says has set fields below `spec`, as seen on a lab after each kind of edit. */
const by = (manager: string, spec: object): ManagedFields => ({
  manager,
  fieldsV1: { "f:spec": spec },
});
const image = { "f:containers": { 'k:{"name":"server"}': { ".": {}, "f:image": {} } } };

/** Deployment candle-vllm of a stack that wants one pod of it. */
const deployment = (replicas: number, ...managedFields: readonly ManagedFields[]): LiveObject => ({
  ...live("Deployment", "candle-vllm", "dev"),
  ...{ replicas, managedFields },
});
const withDeployment = (object: LiveObject): ClusterFacts =>
  facts({
    objects: [...facts().objects.filter(({ kind }) => kind !== "Deployment"), object],
  });
const PUT_BACK =
  "a plain `pulumi up` does not see that; `pulumi up --refresh --skip-preview` puts it back";

describe("what a hand changed", () => {
  it("is a Deployment whose number somebody else has set, and only while it differs", () => {
    const line =
      "Deployment llm-serving/candle-vllm: spec.replicas is 0 in the cluster, by a hand or an autoscaler, and 1 in " +
      `the stack; ${PUT_BACK}`;
    const scaled = judged(withDeployment(deployment(0, by("llm-serving", { "f:selector": {} }))));
    expect(scaled.drift).to.deep.equal([line]);
    expect(scaled.warnings).to.include(line);
    const back = judged(withDeployment(deployment(1, by("kubectl", { "f:replicas": {} }))));
    expect(back.drift).to.deep.equal([]);
  });

  it("is not the number that this program set and the next update changes", () => {
    const own = deployment(0, by("llm-serving", { "f:replicas": {} }));
    expect(judged(withDeployment(own)).drift).to.deep.equal([]);
  });

  it("is nothing in an adoption, which takes the fields over", () => {
    const scaled = withDeployment(deployment(0));
    expect(judged(scaled, undefined, true).drift).to.deep.equal([]);
  });

  it("is a pod template in which somebody else has set a field, told with the field", () => {
    const edited = deployment(
      1,
      by("llm-serving", { "f:replicas": {}, "f:template": { "f:spec": image } }),
      by("kubectl-set", { "f:template": { "f:spec": image } }),
    );
    const { drift, warnings } = judged(withDeployment(edited));
    expect(warnings).to.include(
      "Deployment llm-serving/candle-vllm: its pod template is not this program's alone: kubectl-set set " +
        `spec.containers[server].image; ${PUT_BACK}`,
    );
    expect(drift).to.deep.equal([]);
  });

  it("is no restart by kubectl, and no status of a controller", () => {
    const annotations = { "f:kubectl.kubernetes.io/restartedAt": {} };
    const restarted = deployment(
      1,
      by("kubectl-rollout", { "f:template": { "f:metadata": { "f:annotations": annotations } } }),
      { manager: "kube-controller-manager", subresource: "status", fieldsV1: { "f:status": {} } },
    );
    expect(judged(withDeployment(restarted)).warnings.join()).not.to.include("pod template");
  });

  it("is the selector of coder-predictor when somebody else has set it, and no handoff", () => {
    const selecting = (manager: string) => ({
      spec: { selector: { app: "candle-vllm-next" } },
      metadata: { managedFields: [by(manager, { "f:selector": {} })] },
    });
    const drift = (manager: string) =>
      judged(facts({ coderService: selecting(manager) })).drift.filter((line) =>
        line.includes("coder-predictor"),
      );
    expect(drift("llm-serving")).to.deep.equal([]);
    expect(drift("kubectl-patch")).to.deep.equal([
      'Service llm-serving/coder-predictor: spec.selector is {"app":"candle-vllm-next"} in the cluster, by a hand, and ' +
        `{"app":"candle-vllm"} in the stack; ${PUT_BACK}`,
    ]);
    const { warnings } = judged(facts({ coderService: selecting("llm-serving") }));
    expect(warnings.join()).not.to.include("spec.selector");
  });
});
