// The cluster of a lab: etcd, API server, controller manager, scheduler and kwok as processes of
// this machine, started by kwokctl's binary runtime.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { clusterConfigText, fakeNode, type ClusterConfigOptions } from "./clusterConfig.ts";
import { freePorts } from "./freePorts.ts";
import { kubeconfigText, labMark, type LabPaths } from "./labFolder.ts";
import { components, processesOf } from "./labProcesses.ts";
import { causeIn, run } from "./run.ts";

/** A simulated node. */
export interface LabNode {
  /** Name of the node and value of its label kubernetes.io/hostname. */
  readonly name: string;
  /** nvidia.com/gpu, 0..16. */
  readonly cards: number;
  readonly taints?: readonly {
    readonly key: string;
    readonly value?: string;
    readonly effect: "NoSchedule" | "PreferNoSchedule" | "NoExecute";
  }[];
}

/** What a lab's cluster is made of. */
export interface ControlPlaneOptions extends ClusterConfigOptions {
  readonly name: string;
  readonly paths: LabPaths;
  readonly nodes: readonly LabNode[];
  readonly signal: AbortSignal;
}

/** The port was free when it was chosen and somebody else took it since. */
export class PortTakenError extends Error {}

/**
 * Starts a control plane in an empty folder and writes its kubeconfig; the caller cleans up after
 * an error.
 * @returns the API server's port, once it answers
 * @throws PortTakenError when a port was taken in the meantime
 * @throws Error with the cause when a component ends or nothing answers within 60 seconds
 */
export async function startControlPlane(options: ControlPlaneOptions): Promise<number> {
  const { paths, toolchain, signal } = options;
  const [apiServer = 0, etcd = 0, etcdPeer = 0, controllerManager = 0, scheduler = 0, kwok = 0] =
    await freePorts(6);
  const ports = { apiServer, etcd, etcdPeer, controllerManager, scheduler, kwok };
  await writeFile(paths.clusterConfig, clusterConfigText(options, ports));
  const done = new AbortController();
  await Promise.race([
    run(
      toolchain.paths.kwokctl,
      [
        `--config=${paths.clusterConfig}`,
        "--name=lab",
        "create",
        "cluster",
        "--kubeconfig=",
        "--timeout=60s",
      ],
      // Nothing of the user's: kwokctl reads KWOK_* variables, ~/.kube and ~/.kwok. The home says
      // where its files are, because it cuts KWOK_WORKDIR at a blank.
      { HOME: paths.folder, PATH: toolchain.binFolder },
      signal,
    ),
    watchForFailure(paths, AbortSignal.any([done.signal, signal])),
  ]).finally(() => {
    done.abort();
  });
  const pki = (file: string) => readFile(join(paths.cluster, "pki", file));
  const [ca, certificate, key] = await Promise.all([
    pki("ca.crt"),
    pki("admin.crt"),
    pki("admin.key"),
  ]);
  await writeFile(paths.kubeconfig, kubeconfigText({ port: apiServer, ca, certificate, key }), {
    mode: 0o600,
  });
  return apiServer;
}

/**
 * Creates the nodes and marks the cluster as a lab.
 * @returns uid of namespace kube-system, once every node is Ready
 * @throws Error when a component ends, or when that takes more than 60 seconds
 */
export async function populate(options: ControlPlaneOptions): Promise<string> {
  // Validated by the server alone: kubectl would first read the whole OpenAPI document, which takes a second.
  const apply = ["apply", "--server-side", "--validate=false", "-f", "-"];
  await kubectl(options, apply, populationText(options));
  const deadline = Date.now() + 60_000;
  for (;;) {
    const { uid, ready } = await inspect(options);
    if (ready) return uid;
    // Nodes do not become Ready without all of them, and this names the one that ended.
    await checkComponents(options.paths, true);
    if (Date.now() > deadline) throw new Error("the lab's nodes are not Ready after 60 s");
    await sleep(100, undefined, { signal: options.signal });
  }
}

/** What tells a lab from other clusters, and a healthy one from a broken one. */
export interface ClusterState {
  /** uid of namespace kube-system. */
  readonly uid: string;
  /** Name of the lab that the cluster is marked as. */
  readonly mark: string | undefined;
  /** Whether every node of the lab takes pods. */
  readonly ready: boolean;
}

/**
 * Asks the cluster that the lab's kubeconfig leads to.
 * @throws Error when it does not answer or a node is missing
 */
export async function inspect(options: ControlPlaneOptions): Promise<ClusterState> {
  const nodes = options.nodes.map(({ name }) => `node/${name}`);
  const answer = await kubectl(options, ["get", "namespace/kube-system", ...nodes, "-o=json"]);
  const parsed = JSON.parse(answer) as ObjectState & { items?: readonly ObjectState[] };
  // kubectl prints a List only for more than one object.
  const [kubeSystem = parsed, ...nodeStates] = parsed.items ?? [];
  const { uid, labels } = kubeSystem.metadata;
  return { uid, mark: labels?.[labMark], ready: nodeStates.every(isReadyNode) };
}

function kubectl(
  options: ControlPlaneOptions,
  args: readonly string[],
  input?: string,
): Promise<string> {
  const { paths, toolchain, signal } = options;
  const env = { KUBECONFIG: paths.kubeconfig, HOME: paths.folder };
  return run(toolchain.paths.kubectl, ["--request-timeout=5s", ...args], env, signal, input);
}

interface ObjectState {
  readonly metadata: { readonly uid: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: { readonly taints?: readonly { readonly key: string }[] };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** Ready, and the controller manager has taken away the taint that kept pods off. */
function isReadyNode({ spec, status }: ObjectState): boolean {
  return (
    (status?.conditions ?? []).some(({ type, status }) => type === "Ready" && status === "True") &&
    !(spec?.taints ?? []).some(({ key }) => key === "node.kubernetes.io/not-ready")
  );
}

function populationText({ name, nodes }: ControlPlaneOptions): string {
  const node = ({ name, cards, taints }: LabNode) => {
    const resources = {
      cpu: "64",
      memory: "512Gi",
      "ephemeral-storage": "2Ti",
      pods: "110",
      "nvidia.com/gpu": String(cards),
    };
    return {
      apiVersion: "v1",
      kind: "Node",
      metadata: {
        name,
        labels: {
          "kubernetes.io/hostname": name,
          "kubernetes.io/os": "linux",
          "kubernetes.io/arch": "amd64",
        },
        annotations: { [fakeNode.key]: fakeNode.value },
      },
      spec: { taints: taints ?? [] },
      status: { capacity: resources, allocatable: resources },
    };
  };
  return JSON.stringify({
    apiVersion: "v1",
    kind: "List",
    items: [
      {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: "kube-system", labels: { [labMark]: name } },
      },
      ...nodes.map(node),
    ],
  });
}

/** Rejects when a component that was started does not run any more; kwokctl would wait for 60 s. */
async function watchForFailure(paths: LabPaths, signal: AbortSignal): Promise<never> {
  for (;;) {
    await sleep(250, undefined, { signal });
    await checkComponents(paths, false);
  }
}

/**
 * @param all whether a component that has not been started yet counts as ended
 * @throws PortTakenError | Error naming the component that does not run and the end of its log
 */
export async function checkComponents(paths: LabPaths, all: boolean): Promise<void> {
  // Read before the processes: kwokctl writes the pid file once the component runs.
  const started = await readdir(join(paths.cluster, "pids")).catch((): string[] => []);
  const running = new Set((await processesOf(paths.folder)).map(({ name }) => name));
  const ended = components.find(
    (name) => !running.has(name) && (all || started.includes(`${name}.pid`)),
  );
  if (ended === undefined) return;
  const log = await readFile(join(paths.cluster, "logs", `${ended}.log`), "utf8").catch(() => "");
  if (log.includes("address already in use")) {
    throw new PortTakenError(`the port of ${ended} was taken`);
  }
  throw new Error(`${ended} ended: ${causeIn(log)}`);
}
