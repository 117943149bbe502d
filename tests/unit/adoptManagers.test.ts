import { expect } from "chai";
import type {
  FieldSet,
  KubernetesObject,
  ManagedFieldsEntry,
} from "../../adopt/kubernetesObject.ts";
import { foreignManagers, handedOver, kept, takenManagers } from "../../adopt/managers.ts";

function entry(
  manager: string,
  fieldsV1: FieldSet,
  more: Partial<ManagedFieldsEntry> = {},
): ManagedFieldsEntry {
  const base = { manager, operation: "Update", apiVersion: "apps/v1" } as const;
  return { ...base, fieldsType: "FieldsV1", fieldsV1, ...more };
}

function deployment(
  managedFields: readonly ManagedFieldsEntry[],
  strategy: object = { type: "Recreate" },
  annotations: Record<string, string> = {},
): KubernetesObject {
  const metadata = { name: "clef-serve", annotations, managedFields };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata, spec: { strategy } };
}

const replicas: FieldSet = { "f:spec": { "f:replicas": {} } };
const image: FieldSet = { "f:spec": { "f:image": {} } };
const ours = { operation: "Apply" } as const;

describe("field managers of an adoption", () => {
  it("takes over every verb of kubectl, scale included, and leaves the status alone", () => {
    const object = deployment([
      entry("kubectl-client-side-apply", image),
      entry("kubectl-edit", image),
      entry("kubectl", replicas, { subresource: "scale" }),
      entry("kubectl", image, ours),
      entry("kubectl-patch", {}, { subresource: "status" }),
      entry("kube-controller-manager", {}, { subresource: "status" }),
    ]);
    expect(takenManagers(object, [])).to.deep.equal([
      "kubectl-client-side-apply",
      "kubectl-edit",
      "kubectl",
    ]);
    expect(foreignManagers(object, [])).to.deep.equal([]);
  });

  it("takes the replicas that an autoscaler left, not what the controllers keep", () => {
    const object = deployment([
      entry("kube-controller-manager", replicas, { subresource: "scale" }),
      entry("kube-controller-manager", image),
    ]);
    expect(handedOver(object, object, [])?.map(({ manager }) => manager)).to.deep.equal([
      "llm-serving",
      "kube-controller-manager",
    ]);
  });

  it("calls another tool foreign until it is declared by its exact name", () => {
    const object = deployment([entry("helm", image), entry("llm-serving", image, ours)]);
    expect(foreignManagers(object, [])).to.deep.equal(["helm"]);
    expect(foreignManagers(object, ["helm-2"])).to.deep.equal(["helm"]);
    expect(foreignManagers(object, ["helm"])).to.deep.equal([]);
    expect(takenManagers(object, ["helm"])).to.deep.equal(["helm"]);
  });

  it("unites the fields in one Apply entry of the pinned manager, with the latest time", () => {
    const status = entry("kube-controller-manager", { "f:status": {} }, { subresource: "status" });
    const object = deployment([
      entry("kubectl-client-side-apply", image, { time: "2026-01-01T00:00:00Z" }),
      status,
      entry("kubectl", replicas, { subresource: "scale", time: "2026-02-01T00:00:00Z" }),
    ]);
    expect(handedOver(object, object, [])).to.deep.equal([
      {
        manager: "llm-serving",
        operation: "Apply",
        apiVersion: "apps/v1",
        time: "2026-02-01T00:00:00Z",
        fieldsType: "FieldsV1",
        fieldsV1: { "f:spec": { "f:image": {}, "f:replicas": {} } },
      },
      status,
    ]);
  });

  it("has nothing to hand over where the program is alone", () => {
    const object = deployment([entry("llm-serving", image, ours)]);
    expect(handedOver(object, object, [])).to.equal(undefined);
  });

  it("A09 claims a defaulted rollingUpdate that nobody owns, only where the program drops it", () => {
    const rolling = { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%" } };
    const live = deployment([entry("kubectl", image, ours)], rolling);
    const claimed = handedOver(live, deployment([]), [])?.[0]?.fieldsV1["f:spec"];
    expect(claimed).to.have.nested.property("f:strategy.f:rollingUpdate");
    const same = handedOver(live, deployment([], rolling), [])?.[0]?.fieldsV1["f:spec"];
    expect(same).to.deep.equal({ "f:image": {} });
  });

  it("keeps annotations that somebody else owns or nobody does, never kubectl's bookkeeping", () => {
    const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";
    const annotations = { revision: "3", contact: "x", orphan: "y", [lastApplied]: "{}" };
    const owns = (...keys: string[]): FieldSet => ({
      "f:metadata": { "f:annotations": Object.fromEntries(keys.map((key) => [`f:${key}`, {}])) },
    });
    const object = deployment(
      [
        entry("kubectl-client-side-apply", owns("contact", "revision")),
        entry("kube-controller-manager", owns("revision"), { subresource: "status" }),
      ],
      undefined,
      annotations,
    );
    expect(kept(object, "annotations", [])).to.deep.equal({ revision: "3", orphan: "y" });
  });
});
