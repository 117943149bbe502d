/** The namespace this program owns. A literal: an Output that becomes unknown plans a replacement of everything in it. */
export const NAMESPACE = "llm-serving";

/** Port every container listens on and every targetPort names, by number: a port name would be one more thing to drift. */
export const CONTAINER_PORT = 8080;

/** The route that the gateway sends to Service clef-serve; the route object itself lives outside this program. */
export const SYSTEMONE_ROUTE = "/v1/systemone";

/** The name clef-serve's Service must have: the gateway's route addresses it on port 80. */
export const CLEF_SERVE = "clef-serve";

/** The Service that poimen-memory addresses; it is never replaced. */
export const CODER_PREDICTOR = "coder-predictor";

/** What poimen-memory is configured with. */
export const CODER_BASE_URL = `http://${CODER_PREDICTOR}.${NAMESPACE}.svc.cluster.local/v1`;

/** The model name under which vLLM serves `reasoning`, whatever folder its weights come from. */
export const REASONING_SERVED_NAME = "reasoning";

/** The Service of the reasoning engine; the name is older than this program. */
export const REASONING_SERVICE = "reasoning-long";

/** The NetworkPolicy that admits the clients of a stack that states them. */
export const CLIENTS_POLICY = "llm-serving-clients";

/** Kinds of the Prometheus operator that this program makes, where a cluster has them. */
export type MonitoringKind = "PrometheusRule" | "PodMonitor";

/** API of those kinds. */
export const MONITORING_API = { group: "monitoring.coreos.com", version: "v1" } as const;

/** Annotation of every managed object that says which stack owns it. */
export const STACK_ANNOTATION = "llm-serving/stack";

/** Annotation of a Deployment with the fingerprint of its pod template: another one means that its pods restart. */
export const TEMPLATE_ANNOTATION = "llm-serving/template";

/** The user, group and volume group of every container: not root, and the same in each image (derived). */
export const RUN_AS_ID = 10001;

/**
 * Labels of an object that belongs to one app.
 * @param app value of the label `app`, which Services select by
 */
export function labelsOf(app: string): { app: string; "app.kubernetes.io/part-of": string } {
  return { app, "app.kubernetes.io/part-of": NAMESPACE };
}

/**
 * Annotations of every managed object's own metadata, never of a pod template (a change there restarts pods).
 * The field manager is pinned: a random one conflicts with itself once the state is lost.
 * @param stack name of the owning stack
 */
export function ownershipAnnotations(stack: string): Record<string, string> {
  return { [STACK_ANNOTATION]: stack, "pulumi.com/patchFieldManager": NAMESPACE };
}

/**
 * Annotation of Deployments and Services: the provider sends them and does not wait. Its wait for a Deployment under
 * Recreate returns before the new pods are Ready, its wait for a Service takes 10 s (both measured with provider
 * 4.25.0), and each holds up the updates behind it. The program waits itself, once for all: rollout/.
 */
export const NOT_AWAITED_BY_PROVIDER = { "pulumi.com/skipAwait": "true" };

/**
 * Fields of a Service that the cluster assigns, for `ignoreChanges`. An adopted Service has them in its state; without
 * this the program, which never states them, would plan a replacement (seen with provider 4.25.0).
 */
export const ASSIGNED_BY_CLUSTER = ["spec.clusterIP", "spec.clusterIPs"];
