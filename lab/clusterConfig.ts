// What kwokctl reads: which binaries, ports and options the control plane has, and the stages.
import type { Stage } from "./stages.ts";
import type { Toolchain } from "./toolchain.ts";

/** Ports on 127.0.0.1. */
export interface Ports {
  readonly apiServer: number;
  readonly etcd: number;
  readonly etcdPeer: number;
  readonly controllerManager: number;
  readonly scheduler: number;
  readonly kwok: number;
}

/** kwok simulates nodes with this annotation and leaves every other node of the cluster alone. */
export const fakeNode = { key: "kwok.x-k8s.io/node", value: "fake" };

/** What a control plane is made of, apart from its nodes. */
export interface ClusterConfigOptions {
  readonly toolchain: Toolchain;
  readonly stages: readonly Stage[];
  /** RBAC; without it every authenticated client may do everything. */
  readonly authorization: boolean;
}

/** Text of kwokctl's configuration file. */
export function clusterConfigText(options: ClusterConfigOptions, ports: Ports): string {
  const { paths } = options.toolchain;
  const patch = (
    name: string,
    extra: Record<string, string>,
    override: Record<string, string> = {},
  ) => ({
    name,
    extraArgs: [
      ...Object.entries(extra).map(([key, value]) => ({ key, value, override: false })),
      ...Object.entries(override).map(([key, value]) => ({ key, value, override: true })),
    ],
  });
  const config = {
    apiVersion: "config.kwok.x-k8s.io/v1alpha1",
    kind: "KwokctlConfiguration",
    options: {
      runtime: "binary",
      // kwokctl's default is every address of the machine.
      bindAddress: "127.0.0.1",
      securePort: true,
      kubeAuthorization: options.authorization,
      // The admission guard needs the admission chain, with or without RBAC.
      kubeAdmission: true,
      kubeApiserverPort: ports.apiServer,
      etcdPort: ports.etcd,
      etcdPeerPort: ports.etcdPeer,
      kubeControllerManagerPort: ports.controllerManager,
      kubeSchedulerPort: ports.scheduler,
      kwokControllerPort: ports.kwok,
      etcdBinary: paths.etcd,
      kubeApiserverBinary: paths["kube-apiserver"],
      kubeControllerManagerBinary: paths["kube-controller-manager"],
      kubeSchedulerBinary: paths["kube-scheduler"],
      kwokControllerBinary: paths.kwok,
      kubectlBinary: paths.kubectl,
    },
    componentsPatches: [
      // A lab that loses power is rebuilt, so its data need not reach the disk.
      patch("etcd", { "unsafe-no-fsync": "true" }),
      // A machine without a network has no other address. The pods that would use
      // `kubernetes.default` are simulated.
      patch("kube-apiserver", {
        "advertise-address": "127.0.0.1",
        "endpoint-reconciler-type": "none",
        // Apart from kwok's pod addresses, 10.0.0.0/24.
        "service-cluster-ip-range": "10.96.0.0/16",
      }),
      patch("kube-controller-manager", { "leader-elect": "false" }),
      patch("kube-scheduler", { "leader-elect": "false" }),
      patch(
        "kwok-controller",
        { "manage-nodes-with-annotation-selector": `${fakeNode.key}=${fakeNode.value}` },
        { "manage-all-nodes": "false", "node-ip": "127.0.0.1" },
      ),
    ],
  };
  return [config, ...options.stages]
    .map((document) => `---\n${JSON.stringify(document, undefined, 2)}\n`)
    .join("");
}
