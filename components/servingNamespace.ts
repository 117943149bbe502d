import * as pulumi from "@pulumi/pulumi";
import { Namespace } from "@pulumi/kubernetes/core/v1/namespace.js";
import { NetworkPolicy } from "@pulumi/kubernetes/networking/v1/networkPolicy.js";
import { admissionGuard } from "./admissionGuard.ts";
import { neverDeleted } from "./guards.ts";
import { CLIENTS_POLICY, CONTAINER_PORT, NAMESPACE, ownershipAnnotations } from "./names.ts";

/** Arguments of {@link ServingNamespace}. */
export interface ServingNamespaceArgs {
  /** Name of the owning stack, for the annotation `llm-serving/stack`. */
  readonly stack: string;
  /** Namespaces whose pods may connect. Empty: no NetworkPolicy, everyone may. */
  readonly clients: readonly string[];
  /** Whether the cluster itself denies deleting coder-predictor and this namespace. */
  readonly admissionGuard: boolean;
  /** Hooks of the Namespace: `refuseDelete` of guards.ts; absent in unit tests of this component. */
  readonly hooks?: pulumi.ResourceHookBinding;
}

/**
 * The namespace llm-serving, protected: replacing it deletes everything in it, whoever owns it. Where
 * clients are stated, a NetworkPolicy admits them alone, since the engines have no authentication.
 */
export class ServingNamespace extends pulumi.ComponentResource {
  readonly namespace: Namespace;

  constructor(name: string, args: ServingNamespaceArgs, opts?: pulumi.ComponentResourceOptions) {
    super("llm-serving:index:ServingNamespace", name, {}, opts);
    this.namespace = new Namespace(
      NAMESPACE,
      {
        metadata: {
          name: NAMESPACE,
          labels: { "app.kubernetes.io/part-of": NAMESPACE },
          annotations: ownershipAnnotations(args.stack),
        },
      },
      { parent: this, ...neverDeleted(args.hooks) },
    );
    // Here, because everything in the namespace depends on this component: the guard stands before what it guards, and
    // the engine deletes it last.
    if (args.admissionGuard) admissionGuard(args.stack, { parent: this });
    if (args.clients.length > 0) {
      new NetworkPolicy(
        CLIENTS_POLICY,
        {
          metadata: {
            name: CLIENTS_POLICY,
            namespace: NAMESPACE,
            labels: { "app.kubernetes.io/part-of": NAMESPACE },
            annotations: ownershipAnnotations(args.stack),
          },
          spec: {
            podSelector: { matchLabels: { "app.kubernetes.io/part-of": NAMESPACE } },
            policyTypes: ["Ingress"],
            ingress: [
              {
                from: args.clients.map((client) => ({
                  namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": client } },
                })),
                ports: [{ protocol: "TCP", port: CONTAINER_PORT }],
              },
            ],
          },
        },
        { parent: this, dependsOn: [this.namespace] },
      );
    }
    this.registerOutputs({});
  }
}
