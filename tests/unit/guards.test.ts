import { expect } from "chai";
import {
  ADMISSION_GUARD,
  admissionGuardFindings,
  type LiveGuardObject,
} from "../../components/admissionGuard.ts";
import { neverDeleted, neverReplaced, refuseDelete } from "../../components/guards.ts";
import { ServingNamespace } from "../../components/servingNamespace.ts";
import { registered } from "../support/mocks.ts";
import { objectOf } from "../support/objects.ts";

type Spec = Readonly<Record<string, unknown>>;

describe("guards", () => {
  it("protects, retains and hooks what must never be deleted", async () => {
    await registered("test", () => {
      const hooks = refuseDelete();
      expect(neverDeleted(hooks)).to.deep.equal({ protect: true, retainOnDelete: true, hooks });
      expect(neverReplaced(hooks)).to.deep.include({
        ...neverDeleted(hooks),
        ignoreChanges: ["spec.clusterIP", "spec.clusterIPs"],
      });
    });
  });

  it("binds a hook that refuses in previews too, naming the object and the way out", async () => {
    await registered("test", () => {
      const [hook] = refuseDelete().beforeDelete ?? [];
      if (hook === undefined || typeof hook === "function") throw new Error("no ResourceHook");
      expect(hook.name).to.equal("coder-predictor-is-never-deleted");
      expect(hook.opts?.onDryRun).to.equal(true);
      const args = { urn: "urn:x", id: "", name: "", type: "" };
      expect(() => hook.callback(args)).to.throw(
        /^urn:x: this update would delete or replace it, .*undo the edit that renames, moves or removes it$/,
      );
    });
  });
});

describe("admissionGuardFindings", () => {
  let policy: { readonly spec: Spec };
  let binding: { readonly spec: Spec };

  /** The guard's spec with what the API server adds (read from Kubernetes 1.36.3). */
  before(async () => {
    const resources = await registered("test", () => {
      new ServingNamespace("llm-serving", { stack: "test", clients: [], admissionGuard: true });
    });
    const specOf = (kind: string) =>
      objectOf(resources, `admissionregistration.k8s.io/v1:${kind}`, ADMISSION_GUARD).inputs
        .spec as Spec;
    const spec = specOf("ValidatingAdmissionPolicy");
    const { resourceRules } = spec.matchConstraints as { resourceRules: readonly object[] };
    policy = {
      spec: {
        ...spec,
        matchConstraints: {
          matchPolicy: "Equivalent",
          namespaceSelector: {},
          objectSelector: { matchLabels: undefined },
          resourceRules: resourceRules.map((rule) => ({ ...rule, scope: "*" })),
        },
      },
    };
    binding = { spec: specOf("ValidatingAdmissionPolicyBinding") };
  });

  const warnings = (changed: { policy?: LiveGuardObject; binding?: LiveGuardObject }) =>
    admissionGuardFindings({ policy, binding, ...changed }).warnings;

  it("finds nothing where the guard stands with the server's defaults", () => {
    expect(admissionGuardFindings({ policy, binding })).to.deep.equal({ warnings: [], notes: [] });
  });

  it("names what is missing, and what puts it back", () => {
    expect(warnings({ policy: "absent", binding: "absent" })).to.deep.equal(
      ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"].map(
        (kind) =>
          `${kind} llm-serving-delete-guard is missing in the cluster: the cluster may let coder-predictor be ` +
          "deleted; `pulumi up --refresh --skip-preview` puts it back",
      ),
    );
  });

  const weaker: readonly (readonly [string, (spec: Spec) => Spec])[] = [
    ["ignores failures", (spec) => ({ ...spec, failurePolicy: "Ignore" })],
    ["has another expression", (spec) => ({ ...spec, validations: [{ expression: "true" }] })],
    ["has one condition more", (spec) => ({ ...spec, matchConditions: [{}, {}] })],
    [
      "selects objects by label",
      (spec) => ({
        ...spec,
        matchConstraints: {
          ...(spec.matchConstraints as object),
          objectSelector: { matchLabels: { app: "other" } },
        },
      }),
    ],
    [
      "excludes a resource",
      (spec) => ({
        ...spec,
        matchConstraints: {
          ...(spec.matchConstraints as object),
          excludeResourceRules: [{ resources: ["services"] }],
        },
      }),
    ],
  ];
  for (const [what, change] of weaker) {
    it(`warns of a policy that ${what}`, () => {
      const [warning, ...rest] = warnings({ policy: { spec: change(policy.spec) } });
      expect(warning).to.match(/^ValidatingAdmissionPolicy llm-serving-delete-guard was changed/);
      expect(rest).to.deep.equal([]);
    });
  }

  it("warns of a binding that only audits, or that matches less", () => {
    for (const change of [{ validationActions: ["Audit"] }, { matchResources: {} }]) {
      const [warning] = warnings({ binding: { spec: { ...binding.spec, ...change } } });
      expect(warning).to.match(/^ValidatingAdmissionPolicyBinding .* was changed in the cluster/);
    }
  });

  it("says what it could not check, which is no warning", () => {
    const found = admissionGuardFindings({ policy: "forbidden", binding: "forbidden" });
    expect(found.warnings).to.deep.equal([]);
    expect(found.notes).to.deep.equal([
      "not checked: ValidatingAdmissionPolicy llm-serving-delete-guard (this identity may not read it)",
      "not checked: ValidatingAdmissionPolicyBinding llm-serving-delete-guard (this identity may not read it)",
    ]);
  });
});
