import * as pulumi from "@pulumi/pulumi";
import { Service } from "@pulumi/kubernetes/core/v1/service.js";
import {
  ASSIGNED_BY_CLUSTER,
  CONTAINER_PORT,
  labelsOf,
  NAMESPACE,
  NOT_AWAITED_BY_PROVIDER,
  ownershipAnnotations,
} from "./names.ts";

/** What a Service in front of one workload differs in. */
export interface EngineServiceArgs {
  /** Name of the owning stack. */
  readonly stack: string;
  /** The workload whose pods answer: their label `app`. */
  readonly app: string;
}

/**
 * A Service on port 80, like every predictor Service here but coder-predictor, which has a second one.
 * @param name Kubernetes name, Pulumi name and the Service's own label `app` at once
 */
export function engineService(
  name: string,
  { stack, app }: EngineServiceArgs,
  opts: pulumi.CustomResourceOptions,
): Service {
  return new Service(
    name,
    {
      metadata: {
        name,
        namespace: NAMESPACE,
        labels: labelsOf(name),
        annotations: { ...ownershipAnnotations(stack), ...NOT_AWAITED_BY_PROVIDER },
      },
      spec: {
        type: "ClusterIP",
        selector: { app },
        ports: [{ name: "http", protocol: "TCP", port: 80, targetPort: CONTAINER_PORT }],
      },
    },
    pulumi.mergeOptions(opts, { ignoreChanges: ASSIGNED_BY_CLUSTER }),
  );
}
