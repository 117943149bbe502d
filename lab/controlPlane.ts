// The control plane of a lab: etcd, API server, controller manager, scheduler and kwok, started by kwokctl's binary runtime.
import { once } from "node:events";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  clusterConfigText,
  fakeNode,
  type ClusterConfigOptions,
  type Ports,
} from "./clusterConfig.ts";
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
 * Starts a control plane in an empty folder and writes its kubeconfig. The caller cleans up after an error.
 * @returns the API server's port, once it answers
 * @throws PortTakenError when a port was taken in the meantime
 * @throws Error with the cause when a component ends or nothing answers within 60 seconds
 */
export async function startControlPlane(options: ControlPlaneOptions): Promise<number> {
  const { paths, toolchain, signal } = options;
  const ports = await freePorts();
  await mkdir(paths.kwok, { recursive: true });
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
      // Nothing of the user's environment: kwokctl reads KWOK_* variables, ~/.kwok and ~/.kube.
      { KWOK_WORKDIR: paths.kwok, HOME: paths.folder, PATH: toolchain.binFolder },
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
  await writeFile(
    paths.kubeconfig,
    kubeconfigText({ port: ports.apiServer, ca, certificate, key }),
    {
      mode: 0o600,
    },
  );
  return ports.apiServer;
}

/**
 * Creates the nodes and marks the cluster as a lab.
 * @returns uid of namespace kube-system, once every node is Ready
 * @throws Error when a component ends, or when that takes more than 60 seconds
 */
export async function populate(options: ControlPlaneOptions): Promise<string> {
  const { paths, toolchain, signal, nodes } = options;
  const kubectl = (args: readonly string[], input?: string) =>
    run(
      toolchain.paths.kubectl,
      args,
      { KUBECONFIG: paths.kubeconfig, HOME: paths.folder },
      signal,
      input,
    );
  await kubectl(["apply", "--server-side", "-f", "-"], populationText(options));
  const deadline = Date.now() + 60_000;
  for (;;) {
    const list = JSON.parse(
      await kubectl([
        "get",
        "namespace/kube-system",
        ...nodes.map(({ name }) => `node/${name}`),
        "-o=json",
      ]),
    ) as { items?: readonly ObjectState[] } & ObjectState;
    const items = list.items ?? [list];
    const uid = items[0]?.metadata.uid;
    if (uid !== undefined && items.slice(1).every(isReadyNode)) return uid;
    // Nodes do not become Ready without all of them; one that ended is a better cause than a timeout.
    await checkComponents(paths, true);
    if (Date.now() > deadline) throw new Error("the lab's nodes are not Ready after 60 s");
    await sleep(100, undefined, { signal });
  }
}

interface ObjectState {
  readonly metadata: { readonly uid: string };
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

/** Six different ports that nobody listens on now. */
async function freePorts(): Promise<Ports> {
  const servers = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const server = createServer().listen(0, "127.0.0.1");
      await once(server, "listening");
      return server;
    }),
  );
  const [apiServer = 0, etcd = 0, etcdPeer = 0, controllerManager = 0, scheduler = 0, kwok = 0] =
    servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(
    servers.map(async (server) => {
      server.close();
      await once(server, "close");
    }),
  );
  return { apiServer, etcd, etcdPeer, controllerManager, scheduler, kwok };
}

/** Never resolves; rejects when a component that was started does not run any more. kwokctl itself would wait on for 60 s. */
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
