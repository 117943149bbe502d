import { isDeepStrictEqual } from "node:util";
import type * as pulumi from "@pulumi/pulumi";
import { ValidatingAdmissionPolicy } from "@pulumi/kubernetes/admissionregistration/v1/validatingAdmissionPolicy.js";
import { ValidatingAdmissionPolicyBinding } from "@pulumi/kubernetes/admissionregistration/v1/validatingAdmissionPolicyBinding.js";
import { CODER_PREDICTOR, NAMESPACE, ownershipAnnotations } from "./names.ts";

/** Name of the policy and of its binding; both are cluster-scoped. */
export const ADMISSION_GUARD = "llm-serving-delete-guard";

/** Annotation that allows one object's deletion: its value is the object's uid, so that a copied manifest allows nothing. */
export const ALLOW_DELETE = "llm-serving/allow-delete";

/** CEL: whether `object` carries the annotation with its own uid. */
const allowed = (object: string): string =>
  `"${ALLOW_DELETE}" in ${object}.metadata.?annotations.orValue({}) && ` +
  // dyn: the declared type of namespaceObject spells the field "UID", its value has "uid" (Kubernetes 1.36.3).
  `${object}.metadata.annotations["${ALLOW_DELETE}"] == dyn(${object}.metadata).uid`;

const isNamespace = `request.resource.resource == "namespaces"`;

const POLICY_SPEC = {
  // An expression that fails must not open the gate.
  failurePolicy: "Fail",
  matchConstraints: {
    resourceRules: [
      {
        apiGroups: [""],
        apiVersions: ["v1"],
        operations: ["DELETE"],
        resources: ["namespaces", "services"],
      },
    ],
  },
  // By the object, not by resourceNames: a deletion of the whole collection states no name.
  matchConditions: [
    {
      name: "coder-predictor-or-its-namespace",
      expression:
        `(${isNamespace} && oldObject.metadata.name == "${NAMESPACE}") || ` +
        `(!(${isNamespace}) && oldObject.metadata.name == "${CODER_PREDICTOR}" && ` +
        `oldObject.metadata.namespace == "${NAMESPACE}")`,
    },
  ],
  validations: [
    {
      // A namespace that was allowed to go takes the Service with it, or it would stay Terminating for ever.
      expression:
        `(${allowed("oldObject")}) || (!(${isNamespace}) && namespaceObject != null && ` +
        `has(namespaceObject.metadata.deletionTimestamp) && ${allowed("namespaceObject")})`,
      messageExpression:
        `"poimen-memory holds the ClusterIP of Service ${CODER_PREDICTOR}, so deleting " + oldObject.metadata.name + " is ` +
        `refused; if it must go: kubectl annotate " + request.kind.kind.lowerAscii() + " " + oldObject.metadata.name + ` +
        `(${isNamespace} ? "" : " --namespace=${NAMESPACE}") + " ${ALLOW_DELETE}=" + oldObject.metadata.uid`,
      reason: "Forbidden",
    },
  ],
};

const BINDING_SPEC = { policyName: ADMISSION_GUARD, validationActions: ["Deny"] };

/**
 * The policy in the cluster that denies deleting Service coder-predictor and the namespace, to everybody: kubectl,
 * controllers, and a program that has lost every other guard.
 *
 * Hole: the API server never applies policies to policies, so it cannot guard itself; {@link admissionGuardFindings}
 * says when it is gone. `protect` keeps a commit from removing it together with what it guards: switching it off takes
 * a `pulumi state unprotect` first (docs/guards.md).
 */
export function admissionGuard(stack: string, opts: pulumi.CustomResourceOptions): void {
  const metadata = { name: ADMISSION_GUARD, annotations: ownershipAnnotations(stack) };
  const policy = new ValidatingAdmissionPolicy(
    ADMISSION_GUARD,
    { metadata, spec: POLICY_SPEC },
    { ...opts, protect: true },
  );
  new ValidatingAdmissionPolicyBinding(
    ADMISSION_GUARD,
    { metadata, spec: BINDING_SPEC },
    { ...opts, protect: true, dependsOn: [policy] },
  );
}

/** A live object of the guard: as the API server returns it, absent, or not readable with the caller's rights. */
export type LiveGuardObject = { readonly spec?: unknown } | "absent" | "forbidden";

/** Both live objects by name {@link ADMISSION_GUARD}. */
export interface LiveGuard {
  readonly policy: LiveGuardObject;
  readonly binding: LiveGuardObject;
}

/**
 * What is wrong with the guard in the cluster, and what could not be checked, one line each. A plain preview compares
 * with the state, so that it cannot see what somebody did to the guard with kubectl.
 * @param live ask only where the namespace exists, or the very first preview complains
 */
export function admissionGuardFindings({ policy, binding }: LiveGuard): {
  readonly warnings: readonly string[];
  readonly notes: readonly string[];
} {
  const both = [
    { kind: "ValidatingAdmissionPolicy", live: policy, wanted: POLICY_SPEC },
    { kind: "ValidatingAdmissionPolicyBinding", live: binding, wanted: BINDING_SPEC },
  ];
  const consequence = `the cluster may let ${CODER_PREDICTOR} be deleted; \`pulumi up --refresh --skip-preview\` puts it back`;
  return {
    warnings: both.flatMap(({ kind, live, wanted }) => {
      if (live === "forbidden") return [];
      if (live === "absent")
        return [`${kind} ${ADMISSION_GUARD} is missing in the cluster: ${consequence}`];
      if (covers(plain(live.spec), wanted)) return [];
      return [`${kind} ${ADMISSION_GUARD} was changed in the cluster: ${consequence}`];
    }),
    notes: both
      .filter(({ live }) => live === "forbidden")
      .map(({ kind }) => `not checked: ${kind} ${ADMISSION_GUARD} (this identity may not read it)`),
  };
}

/** What the API server adds to the spec; any other addition, such as a selector, narrows what the guard covers. */
const SERVER_DEFAULTS: Readonly<Record<string, unknown>> = {
  matchPolicy: "Equivalent",
  namespaceSelector: {},
  objectSelector: {},
  scope: "*",
};

/** Whether `live` is `wanted` but for what the API server fills in. */
function covers(live: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(live) &&
      live.length === wanted.length &&
      wanted.every((each, index) => covers(live[index], each))
    );
  }
  if (!isRecord(wanted)) return live === wanted;
  return (
    isRecord(live) &&
    Object.keys(wanted).every((key) => covers(live[key], wanted[key])) &&
    Object.entries(live)
      .filter(([key]) => !(key in wanted))
      .every(([key, value]) => isDeepStrictEqual(value, SERVER_DEFAULTS[key]))
  );
}

/** Without the client's classes and its undefined fields. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null));
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
