import * as pulumi from "@pulumi/pulumi";
import { Service } from "@pulumi/kubernetes/core/v1/service.js";
import { neverReplaced } from "./guards.ts";
import {
  CODER_PREDICTOR,
  CONTAINER_PORT,
  labelsOf,
  NAMESPACE,
  NOT_AWAITED_BY_PROVIDER,
  ownershipAnnotations,
} from "./names.ts";

/** Arguments of {@link CoderPredictor}. */
export interface CoderPredictorArgs {
  /** Name of the owning stack, for the annotation `llm-serving/stack`. */
  readonly stack: string;
  /** The engine that answers: the Service's selector, and nothing else, follows it. */
  readonly backend: "candle-vllm" | "candle-vllm-next";
  /** Hooks of the Service: `refuseDelete` of guards.ts; absent in unit tests of this component. */
  readonly hooks?: pulumi.ResourceHookBinding;
}

const NOT_YET = "assigned when the Service is created";

/**
 * The Service that poimen-memory addresses. It keeps its uid and ClusterIP through every edit: losing the
 * ClusterIP breaks a client that cached the name until it resolves again.
 */
export class CoderPredictor extends pulumi.ComponentResource {
  /** The address that the cluster assigned, and keeps. */
  readonly clusterIp: pulumi.Output<string>;

  constructor(name: string, args: CoderPredictorArgs, opts?: pulumi.ComponentResourceOptions) {
    super("llm-serving:index:CoderPredictor", name, {}, opts);
    const service = new Service(
      CODER_PREDICTOR,
      {
        metadata: {
          name: CODER_PREDICTOR,
          namespace: NAMESPACE,
          labels: labelsOf(CODER_PREDICTOR),
          annotations: { ...ownershipAnnotations(args.stack), ...NOT_AWAITED_BY_PROVIDER },
        },
        spec: coderServiceSpec(args.backend),
      },
      { parent: this, ...neverReplaced(args.hooks) },
    );
    // Until the Service exists, a preview has no value here; an undefined output would be dropped with a warning.
    this.clusterIp = service.spec.apply(
      ({ clusterIP }: { clusterIP?: string }) => clusterIP ?? NOT_YET,
    );
    this.registerOutputs({ clusterIp: this.clusterIp });
  }
}

/** Spec of the Service: everything but what the cluster assigns. */
export function coderServiceSpec(backend: CoderPredictorArgs["backend"]) {
  return {
    type: "ClusterIP",
    selector: { app: backend },
    ports: [
      // For a base URL without a port, like every other predictor Service here.
      { name: "http", protocol: "TCP", port: 80, targetPort: CONTAINER_PORT },
      // The container's own port, so that nobody has to translate in a curl.
      { name: "http-8080", protocol: "TCP", port: 8080, targetPort: CONTAINER_PORT },
    ],
  };
}
