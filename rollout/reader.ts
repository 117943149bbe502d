import {
  AppsV1Api,
  CoreV1Api,
  ERROR,
  type Informer,
  type KubeConfig,
  type KubernetesObject,
  makeInformer,
  VersionApi,
} from "@kubernetes/client-node";
import { ClusterError } from "../cluster/facts.ts";
import { NAMESPACE } from "../components/names.ts";
import { deploymentView, podView } from "./views.ts";
import type { RolloutReader } from "./wait.ts";

/** How long the cluster may stay away in the middle of a wait: an API server restarts within this, in milliseconds. */
const AWAY_MS = 60_000;

/** A reader that must be closed, or its watches keep the process alive. */
export interface OpenReader extends RolloutReader {
  /** The cluster's clock in milliseconds since the epoch: ages of pods count by it. */
  readonly clusterNow: () => number;
  readonly close: () => Promise<void>;
}

/**
 * Watches the Deployments of the namespace and the pods of all namespaces: a stranger may hold the card that a pod
 * waits for. Each is listed once; after that the cluster tells what changes.
 * @throws ApiException | Error when the cluster does not answer
 */
export async function openReader(kubeConfig: KubeConfig): Promise<OpenReader> {
  const apps = kubeConfig.makeApiClient(AppsV1Api);
  const core = kubeConfig.makeApiClient(CoreV1Api);
  const deployments = makeInformer(
    kubeConfig,
    `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`,
    () => apps.listNamespacedDeployment({ namespace: NAMESPACE }),
  );
  const pods = makeInformer(kubeConfig, "/api/v1/pods", () => core.listPodForAllNamespaces());
  const aheadMs = await clockDifference(kubeConfig);
  const clusterNow = () => Date.now() + aheadMs;

  let changed: () => void = () => undefined;
  const lost = new Map<Informer<KubernetesObject>, Error>();
  let awaySince: number | undefined;
  for (const informer of [deployments, pods] as Informer<KubernetesObject>[]) {
    informer.on("change", () => {
      changed();
    });
    informer.on(ERROR, (error: Error) => {
      lost.set(informer, error);
    });
  }

  /** Takes up again what has ended with an error, as when the API server restarts. */
  async function resume(): Promise<void> {
    const ended = [...lost.keys()];
    lost.clear();
    await Promise.all(ended.map((informer) => informer.start()));
    const [error] = lost.values();
    if (error === undefined) {
      awaySince = undefined;
      return;
    }
    awaySince ??= Date.now();
    if (Date.now() - awaySince < AWAY_MS) return;
    throw new ClusterError(
      `the cluster has not answered for ${AWAY_MS / 1000} s: ${error.message}`,
    );
  }

  await Promise.all([deployments.start(), pods.start()]);
  return {
    clusterNow,
    look: async () => {
      await resume();
      return {
        now: clusterNow(),
        deployments: deployments.list().map(deploymentView),
        pods: pods.list().map(podView),
      };
    },
    change: (milliseconds) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, milliseconds);
        changed = () => {
          clearTimeout(timer);
          resolve();
        };
      }),
    close: async () => {
      await Promise.all([deployments.stop(), pods.stop()]);
    },
  };
}

/** How far the cluster's clock is ahead of this machine's in milliseconds, to the second that HTTP states. */
async function clockDifference(kubeConfig: KubeConfig): Promise<number> {
  const { headers } = await kubeConfig.makeApiClient(VersionApi).getCodeWithHttpInfo();
  const date = Date.parse(headers.date ?? "");
  return Number.isNaN(date) ? 0 : date - Date.now();
}
