// The behaviour of the simulated kubelet: kwok `Stage` objects. Any Stage in kwok's configuration
// replaces all of its defaults, so those of the nodes are here too.

/** One step in the life of a node or pod: `next`, `delay` after `selector` begins to match. */
export interface Stage {
  readonly apiVersion: "kwok.x-k8s.io/v1alpha1";
  readonly kind: "Stage";
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly resourceRef: { readonly apiGroup: "v1"; readonly kind: "Node" | "Pod" };
    readonly selector: { readonly matchExpressions: readonly StageExpression[] };
    readonly delay?: {
      readonly durationMilliseconds: number;
      readonly jitterDurationMilliseconds?: number;
    };
    readonly next: {
      readonly statusTemplate?: string;
      readonly finalizers?: { readonly empty: true };
      readonly delete?: true;
    };
  };
}

/** `key` is a jq path; one that yields nothing matches `NotIn` and `DoesNotExist`. */
export interface StageExpression {
  readonly key: string;
  readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  readonly values?: readonly string[];
}

/** A time in seconds by the pod's label `app`; `"*"` is every other pod. */
export type SecondsByApp = Readonly<Record<string, number>>;

/** How long the simulated engines take. */
export interface StageTimes {
  /** 0..3600 each, from bound to Ready. */
  readonly coldStartSeconds: SecondsByApp;
  /** 0..600 each: a deleted pod stays Terminating for so long, and holds its cards. */
  readonly terminationSeconds: SecondsByApp;
  /**
   * Labels `app` of pods that fail their readiness probe as soon as they are deleted. All others stay as ready as
   * they were until they are gone, and an EndpointSlice shows them as serving and terminating.
   */
  readonly stopServingAtOnce?: readonly string[];
  /** Seconds for which one second of the lab stands: 60 makes 4 s of a cold start of 240 s. Default 1. */
  readonly timeScale?: number;
}

/** A pod turns Failed at once after `kubectl annotate pod NAME llm-serving-lab/fail=true`. */
export const failAnnotation = "llm-serving-lab/fail";

const alive: StageExpression = { key: ".metadata.deletionTimestamp", operator: "DoesNotExist" };
const notFailing: StageExpression = {
  key: `.metadata.annotations["${failAnnotation}"]`,
  operator: "NotIn",
  values: ["true"],
};
const ofJob: StageExpression = {
  key: `.metadata.labels["batch.kubernetes.io/job-name"]`,
  operator: "Exists",
};
const conditionStatus = (type: string): string =>
  `.status.conditions.[] | select( .type == "${type}" ) | .status`;

function stage(
  name: string,
  kind: "Node" | "Pod",
  spec: Omit<Stage["spec"], "resourceRef" | "selector">,
  ...matchExpressions: readonly StageExpression[]
): Stage {
  return {
    apiVersion: "kwok.x-k8s.io/v1alpha1",
    kind: "Stage",
    metadata: { name },
    spec: { resourceRef: { apiGroup: "v1", kind }, selector: { matchExpressions }, ...spec },
  };
}

const nodeConditions = `
{{ $now := Now }}
conditions:
{{ range NodeConditions }}
- lastHeartbeatTime: {{ $now | Quote }}
  lastTransitionTime: {{ or $.metadata.creationTimestamp $now | Quote }}
  message: {{ .message | Quote }}
  reason: {{ .reason | Quote }}
  status: {{ .status | Quote }}
  type: {{ .type | Quote }}
{{ end }}
`;

const nodeReady = `${nodeConditions}
addresses:
- address: {{ NodeIP | Quote }}
  type: InternalIP
- address: {{ NodeName | Quote }}
  type: Hostname
nodeInfo:
  architecture: amd64
  bootID: ""
  containerRuntimeVersion: {{ printf "kwok-%s" Version }}
  kernelVersion: {{ printf "kwok-%s" Version }}
  kubeProxyVersion: {{ printf "kwok-%s" Version }}
  kubeletVersion: {{ printf "kwok-%s" Version }}
  machineID: ""
  operatingSystem: linux
  osImage: ""
  systemUUID: ""
phase: Running
`;

function podConditions(status: "True" | "False", reason: string): string {
  return ["Ready", "ContainersReady"]
    .map(
      (type) => `- lastProbeTime: null
  lastTransitionTime: {{ $now | Quote }}
  message: ""
  reason: "${reason}"
  status: "${status}"
  type: ${type}`,
    )
    .join("\n");
}

function containerStatuses(ready: "true" | "false", state: string): string {
  return `containerStatuses:
{{ range .spec.containers }}
- image: {{ .image | Quote }}
  imageID: ""
  name: {{ .name | Quote }}
  ready: ${ready}
  restartCount: 0
  started: ${ready}
  state:
    ${state}
{{ end }}`;
}

// Bound, and the engine loads. No podIP yet: no EndpointSlice lists the pod before it is Ready.
const podStarting = `
{{ $now := Now }}
conditions:
- lastProbeTime: null
  lastTransitionTime: {{ $now | Quote }}
  status: "True"
  type: Initialized
${podConditions("False", "ContainersNotReady")}
${containerStatuses("false", "waiting: {reason: ContainerCreating}")}
hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
phase: Pending
startTime: {{ $now | Quote }}
`;

const podReady = `
{{ $now := Now }}
{{ $hostNetwork := or .spec.hostNetwork false }}
{{ $meta := .metadata }}
conditions:
${podConditions("True", "")}
${containerStatuses("true", "running: {startedAt: {{ $now | Quote }}}")}
podIP: {{ PodIPWith .spec.nodeName $hostNetwork $meta.uid $meta.name $meta.namespace | Quote }}
phase: Running
`;

const podSucceeded = `
{{ $now := Now }}
conditions:
${podConditions("False", "PodCompleted")}
${containerStatuses("false", "terminated: {exitCode: 0, reason: Completed, finishedAt: {{ $now | Quote }}}")}
phase: Succeeded
`;

const failedState = "terminated: {exitCode: 1, reason: Error, finishedAt: {{ $now | Quote }}}";
const podFailed = `
{{ $now := Now }}
conditions:
${podConditions("False", "PodFailed")}
${containerStatuses("false", failedState)}
phase: Failed
`;

// Still running, so that it holds its cards, and no longer an endpoint that serves.
const podNotServing = `
{{ $now := Now }}
conditions:
${podConditions("False", "ContainersNotReady")}
${containerStatuses("false", "running: {startedAt: {{ $now | Quote }}}")}
`;

const label = ".metadata.labels.app";
const deleted: StageExpression = { key: ".metadata.deletionTimestamp", operator: "Exists" };
const ready: StageExpression = { key: conditionStatus("Ready"), operator: "In", values: ["True"] };

/** One stage for each app, and one for all the others: exactly one of them matches a pod. */
function byApp(
  name: string,
  seconds: SecondsByApp,
  timeScale: number,
  next: Stage["spec"]["next"],
  ...matchExpressions: readonly StageExpression[]
): readonly Stage[] {
  const apps = Object.keys(seconds).filter((app) => app !== "*");
  // kwok drops a pod for ever at an expression without values.
  const others =
    apps.length === 0 ? [] : [{ key: label, operator: "NotIn", values: apps } as const];
  return Object.entries(seconds).map(([app, each]) =>
    stage(
      app === "*" ? name : `${name}-${app}`,
      "Pod",
      { delay: { durationMilliseconds: Math.round((each * 1000) / timeScale) }, next },
      ...matchExpressions,
      ...(app === "*" ? others : [{ key: label, operator: "In", values: [app] } as const]),
    ),
  );
}

/** The end of deleted pods. Two stages that match one pod would be drawn by lot, hence the last expressions. */
function deletionStages(times: StageTimes, timeScale: number): readonly Stage[] {
  const gone = { finalizers: { empty: true }, delete: true } as const;
  const seconds = times.terminationSeconds;
  const apps = times.stopServingAtOnce ?? [];
  if (apps.length === 0) return byApp("pod-delete", seconds, timeScale, gone, deleted);
  const servesOn: StageExpression = {
    key: `select(${apps.map((app) => `${label} == "${app}"`).join(" or ")}) | ${ready.key}`,
    operator: "NotIn",
    values: ["True"],
  };
  return [
    stage("pod-stop-serving", "Pod", { next: { statusTemplate: podNotServing } }, deleted, ready, {
      key: label,
      operator: "In",
      values: apps,
    }),
    ...byApp("pod-delete", seconds, timeScale, gone, deleted, servesOn),
  ];
}

/**
 * All stages of a lab: nodes become and stay Ready; a bound pod is Pending without a podIP, then
 * Running and Ready after its cold start; a Job's pod then succeeds after a second; a deleted pod holds its cards for
 * its termination time.
 */
export function labStages(times: StageTimes): readonly Stage[] {
  const { timeScale = 1 } = times;
  return [
    stage(
      "node-initialize",
      "Node",
      { next: { statusTemplate: nodeReady } },
      {
        key: conditionStatus("Ready"),
        operator: "NotIn",
        values: ["True"],
      },
    ),
    // kwok renews the node's Lease itself; the status needs a sign of life only now and then.
    stage(
      "node-heartbeat",
      "Node",
      {
        delay: { durationMilliseconds: 600_000, jitterDurationMilliseconds: 610_000 },
        next: { statusTemplate: nodeConditions },
      },
      { key: conditionStatus("Ready"), operator: "In", values: ["True"] },
    ),
    stage("pod-create", "Pod", { next: { statusTemplate: podStarting } }, alive, notFailing, {
      key: conditionStatus("Initialized"),
      operator: "DoesNotExist",
    }),
    ...byApp(
      "pod-ready",
      times.coldStartSeconds,
      timeScale,
      { statusTemplate: podReady },
      alive,
      notFailing,
      { key: ".status.phase", operator: "In", values: ["Pending"] },
      { key: conditionStatus("Initialized"), operator: "In", values: ["True"] },
    ),
    stage(
      "pod-of-job-succeed",
      "Pod",
      { delay: { durationMilliseconds: 1000 }, next: { statusTemplate: podSucceeded } },
      alive,
      notFailing,
      ofJob,
      { key: ".status.phase", operator: "In", values: ["Running"] },
    ),
    stage(
      "pod-fail",
      "Pod",
      { next: { statusTemplate: podFailed } },
      alive,
      { ...notFailing, operator: "In" },
      { key: ".status.phase", operator: "NotIn", values: ["Failed", "Succeeded"] },
    ),
    ...deletionStages(times, timeScale),
  ];
}
