import * as pulumi from "@pulumi/pulumi";
import { ServiceAccount } from "@pulumi/kubernetes/core/v1/serviceAccount.js";
import { ClusterRole } from "@pulumi/kubernetes/rbac/v1/clusterRole.js";
import { ClusterRoleBinding } from "@pulumi/kubernetes/rbac/v1/clusterRoleBinding.js";
import { Role } from "@pulumi/kubernetes/rbac/v1/role.js";
import { RoleBinding } from "@pulumi/kubernetes/rbac/v1/roleBinding.js";
import type { input } from "@pulumi/kubernetes/types/index.js";
import { ADMISSION_GUARD } from "./admissionGuard.ts";
import { MONITORING_API, NAMESPACE, ownershipAnnotations } from "./names.ts";

/** Arguments of {@link Reviewer}. */
export interface ReviewerArgs {
  /** Name of the owning stack, for the annotation `llm-serving/stack`. */
  readonly stack: string;
}

/** Name of the ServiceAccount, of its roles and of their bindings. */
export const REVIEWER = "llm-serving-reviewer";

/** Beyond the namespace: cards are held by pods of any namespace, and a cluster is known by the uid of kube-system. */
const CLUSTER_RULES: input.rbac.v1.PolicyRule[] = [
  { apiGroups: [""], resources: ["nodes", "pods"], verbs: ["get", "list"] },
  { apiGroups: [""], resources: ["namespaces"], verbs: ["get"] },
  {
    apiGroups: ["admissionregistration.k8s.io"],
    resources: ["validatingadmissionpolicies", "validatingadmissionpolicybindings"],
    verbs: ["get"],
    resourceNames: [ADMISSION_GUARD],
  },
  // Its own rights are objects of the stack too, which a refresh reads.
  {
    apiGroups: ["rbac.authorization.k8s.io"],
    resources: ["clusterroles", "clusterrolebindings"],
    verbs: ["get"],
    resourceNames: [REVIEWER],
  },
];

/**
 * In the namespace: list for the program's own look at the cluster, get for a refresh. Secrets are left out: RBAC
 * cannot grant their metadata alone.
 */
const NAMESPACE_RULES: input.rbac.v1.PolicyRule[] = [
  { apiGroups: [""], resources: ["services", "configmaps"], verbs: ["get", "list"] },
  { apiGroups: [""], resources: ["persistentvolumeclaims"], verbs: ["list"] },
  { apiGroups: [""], resources: ["serviceaccounts"], verbs: ["get"] },
  { apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "list"] },
  { apiGroups: ["apps"], resources: ["statefulsets", "daemonsets"], verbs: ["list"] },
  { apiGroups: ["batch"], resources: ["jobs"], verbs: ["get", "list"] },
  { apiGroups: ["networking.k8s.io"], resources: ["networkpolicies"], verbs: ["get", "list"] },
  {
    apiGroups: [MONITORING_API.group],
    resources: ["prometheusrules", "podmonitors"],
    verbs: ["get"],
  },
  {
    apiGroups: ["rbac.authorization.k8s.io"],
    resources: ["roles", "rolebindings"],
    verbs: ["get"],
  },
];

/**
 * A read-only identity for previews and the drift check, in review and in CI: it may write nothing and read no Secret.
 * The server-side dry run needs the right to patch, so that its previews go without it, and say so.
 * @see docs/reviewer.md for its kubeconfig, and what its previews check
 */
export class Reviewer extends pulumi.ComponentResource {
  constructor(name: string, args: ReviewerArgs, opts?: pulumi.ComponentResourceOptions) {
    super("llm-serving:index:Reviewer", name, {}, opts);
    const labels = { "app.kubernetes.io/part-of": NAMESPACE };
    const metadata = { name: REVIEWER, labels, annotations: ownershipAnnotations(args.stack) };
    const here = { ...metadata, namespace: NAMESPACE };
    const subjects = [{ kind: "ServiceAccount", name: REVIEWER, namespace: NAMESPACE }];
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", name: REVIEWER };
    const child = { parent: this };
    new ServiceAccount(REVIEWER, { metadata: here, automountServiceAccountToken: false }, child);
    new Role(REVIEWER, { metadata: here, rules: NAMESPACE_RULES }, child);
    new RoleBinding(
      REVIEWER,
      { metadata: here, roleRef: { ...roleRef, kind: "Role" }, subjects },
      child,
    );
    new ClusterRole(REVIEWER, { metadata, rules: CLUSTER_RULES }, child);
    new ClusterRoleBinding(
      REVIEWER,
      { metadata, roleRef: { ...roleRef, kind: "ClusterRole" }, subjects },
      child,
    );
    this.registerOutputs({});
  }
}
