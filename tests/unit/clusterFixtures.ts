import { type ClusterState, evaluateCluster } from "../../cluster/evaluate.ts";
import type {
  ClusterFacts,
  LiveKind,
  LiveObject,
  ObjectName,
  LiveNode,
  LivePod,
} from "../../cluster/facts.ts";
import { parseStackConfig, type StackConfig } from "../../config.ts";
import { DIGEST, type Raw, smallStack } from "./configFixtures.ts";

export const NOW = new Date("2026-11-04T12:00:00Z");

/** A time before {@link NOW}. */
export function secondsAgo(seconds: number): Date {
  return new Date(NOW.getTime() - seconds * 1000);
}

/** clef-serve and candle-vllm on a card each, a claim and no Secret; the rest parked. */
export function stackConfig(changes: Raw = {}): StackConfig {
  const small = smallStack();
  const image = `registry.example/llm/image${DIGEST}`;
  const candleVllm = { ...(small.candleVllm as Raw), modelsClaim: "models" };
  return parseStackConfig(
    {
      ...small,
      clefServe: { replicas: 1, image },
      candleVllm: { ...candleVllm, replicas: 1, coldStartSeconds: 300, image },
      candleVllmNext: candleVllm,
      reasoning: candleVllm,
      ...changes,
    },
    "dev",
  );
}

/** A Ready node with four cards. */
export function liveNode(name = "worker-1", changes: Partial<LiveNode> = {}): LiveNode {
  return {
    metadata: { name: `node-of-${name}`, labels: { "kubernetes.io/hostname": name } },
    status: {
      capacity: { "nvidia.com/gpu": "4" },
      allocatable: { "nvidia.com/gpu": "4" },
      conditions: [{ type: "Ready", status: "True" }],
    },
    ...changes,
  };
}

/** A pod on the node of {@link liveNode}, Ready since long. */
export function livePod(
  namespace: string,
  name: string,
  cards: number,
  changes: LivePod = {},
): LivePod {
  return {
    metadata: { name, namespace, ...changes.metadata },
    spec: {
      nodeName: "node-of-worker-1",
      containers: [{ name: "main", resources: { limits: { "nvidia.com/gpu": String(cards) } } }],
      ...changes.spec,
    },
    status: {
      phase: "Running",
      startTime: secondsAgo(3600),
      conditions: [{ type: "Ready", status: "True", lastTransitionTime: secondsAgo(3500) }],
      ...changes.status,
    },
  };
}

/** A pod of a Deployment in namespace llm-serving. */
export function podOf(deployment: string, cards: number, changes: LivePod = {}): LivePod {
  return livePod("llm-serving", `${deployment}-5d9c7-abcde`, cards, {
    ...changes,
    metadata: {
      labels: { app: deployment, "pod-template-hash": "5d9c7" },
      ownerReferences: [
        {
          apiVersion: "apps/v1",
          kind: "ReplicaSet",
          name: `${deployment}-5d9c7`,
          uid: "1",
          controller: true,
        },
      ],
      ...changes.metadata,
    },
  });
}

/** Status of a bound pod that has not been Ready since it started. */
export function neverReady(seconds: number): NonNullable<LivePod["status"]> {
  const start = secondsAgo(seconds);
  return {
    startTime: start,
    conditions: [{ type: "Ready", status: "False", lastTransitionTime: start }],
  };
}

/** An object of namespace llm-serving; without a stack nobody owns it. */
export function live(
  kind: LiveKind,
  name: string,
  stack?: string,
  owners: LiveObject["metadata"]["ownerReferences"] = [],
): LiveObject {
  const annotations = stack === undefined ? {} : { "llm-serving/stack": stack };
  return { kind, metadata: { name, annotations, ownerReferences: owners } };
}

/** What {@link judged} takes for the program's own objects. */
export const WANTED: readonly ObjectName[] = [
  { kind: "Namespace", name: "llm-serving" },
  { kind: "Deployment", name: "candle-vllm" },
  { kind: "Service", name: "coder-predictor" },
];

/** Facts of a cluster on which {@link stackConfig} runs. */
export function facts(changes: Partial<ClusterFacts> = {}): ClusterFacts {
  return {
    server: "https://127.0.0.1:6443",
    uid: "3f0c",
    lab: "test",
    nodes: [liveNode()],
    pods: [podOf("clef-serve", 1), podOf("candle-vllm", 1)],
    objects: [
      ...WANTED.map(({ kind, name }) => live(kind, name, "dev")),
      live("PersistentVolumeClaim", "models"),
    ],
    unread: new Set(),
    mayPatch: true,
    monitoringKinds: [],
    ...changes,
  };
}

/** {@link facts} and further objects. */
export function factsWith(...objects: readonly LiveObject[]): ClusterFacts {
  return facts({ objects: [...facts().objects, ...objects] });
}

/** What facts mean for a stack named dev. */
export function judged(of: ClusterFacts, config = stackConfig(), adopting = false): ClusterState {
  return evaluateCluster(of, { config, stack: "dev", wanted: WANTED, adopting, now: NOW });
}
