import { KubeConfig } from "@kubernetes/client-node";
import { CoreV1Api } from "@kubernetes/client-node";
import type { ClusterConfig } from "./config.ts";

/** Label on Namespace kube-system that marks a lab; its value is the lab's name. */
export const LAB_LABEL = "llm-serving/lab";

/** How long the cluster may take to answer, in milliseconds. */
const ANSWER_MS = 5000;

/** Set to 1, it lets one preview run without its cluster; refused in `up`. */
const OFFLINE = "LLM_SERVING_OFFLINE";

/**
 * Whether this run does without its cluster, as the environment asks for.
 * @param preview whether this is a preview
 * @throws {ClusterError} in `up`, which must never act on a cluster it has not looked at
 */
export function offline(preview: boolean): boolean {
  const value = process.env[OFFLINE];
  if (value === undefined || value === "") return false;
  if (value !== "1") {
    throw new ClusterError(`${OFFLINE} = ${value}: not a known value (1, or unset); unset it`);
  }
  if (!preview) {
    throw new ClusterError(`${OFFLINE} = 1: is for previews alone; unset it and run \`up\` again`);
  }
  return true;
}

/** Read-only facts of the live cluster. */
export interface ClusterFacts {
  /** uid of Namespace kube-system, which names a cluster for its whole life. */
  readonly uid: string;
  /** The lab's name, where the cluster is marked as a lab. */
  readonly lab: string | undefined;
}

/** What is wrong with the cluster, or with the way to it, in one line. */
export class ClusterError extends Error {}

/**
 * Reads the cluster that the stack names, and refuses any other. Read rights are enough.
 * @param cluster the stack's `llm-serving:cluster`
 * @throws {ClusterError} when the context is missing, the cluster does not answer or is not the stack's
 */
export async function readCluster(cluster: ClusterConfig): Promise<ClusterFacts> {
  const kubeConfig = contextOf(cluster.context);
  const server = kubeConfig.getCurrentCluster()?.server ?? "no server";
  const core = kubeConfig.makeApiClient(CoreV1Api);
  const kubeSystem = await answered(
    core.readNamespace({ name: "kube-system" }),
    cluster.context,
    server,
  );
  const facts = {
    uid: kubeSystem.metadata?.uid ?? "",
    lab: kubeSystem.metadata?.labels?.[LAB_LABEL],
  };
  checkIdentity(cluster, facts, server);
  return facts;
}

/** The user's kubeconfig with the stack's context, whatever the ambient one is. */
function contextOf(context: string): KubeConfig {
  const kubeConfig = new KubeConfig();
  try {
    kubeConfig.loadFromDefault();
  } catch (error) {
    throw new ClusterError(
      `${kubeConfigPath()}: cannot be read as a kubeconfig: ${messageOf(error)}; ` +
        `set KUBECONFIG to the file that has context ${context}`,
    );
  }
  if (kubeConfig.getContextObject(context) === null) {
    const known = kubeConfig.getContexts().map(({ name }) => name);
    throw new ClusterError(
      `llm-serving:cluster.context = ${context}: ${kubeConfigPath()} has no such context ` +
        `(${known.join(", ")}); set KUBECONFIG to the file that has it` +
        (context === "llm-lab" ? ", for the lab: `make lab`, then `. .lab/env`" : ""),
    );
  }
  kubeConfig.setCurrentContext(context);
  return kubeConfig;
}

function kubeConfigPath(): string {
  return process.env.KUBECONFIG ?? "~/.kube/config";
}

/** @throws {ClusterError} when `request` fails or takes too long, naming the cause and the next command */
async function answered<T>(request: Promise<T>, context: string, server: string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(new Error(`no answer within ${ANSWER_MS / 1000} s`));
  }, ANSWER_MS);
  try {
    return await Promise.race([request, late.promise]);
  } catch (error) {
    throw new ClusterError(
      `llm-serving:cluster.context = ${context}: the cluster at ${server} does not answer: ` +
        `${messageOf(error)}; try \`kubectl --context ${context} get nodes\`` +
        (context === "llm-lab" ? " or start the lab again with `make lab`" : ""),
    );
  } finally {
    clearTimeout(timer);
  }
}

/** The innermost cause: a failed fetch says only "fetch failed" itself. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause !== undefined) return messageOf(error.cause);
  return error.message.split("\n")[0] ?? error.name;
}

function checkIdentity(cluster: ClusterConfig, facts: ClusterFacts, server: string): void {
  if (cluster.lab === true && facts.lab === undefined) {
    throw new ClusterError(
      `llm-serving:cluster.lab = true: the cluster at ${server} is no lab (kube-system has no label ` +
        `${LAB_LABEL}); nothing was changed there. Start one with \`make lab\`, then \`. .lab/env\``,
    );
  }
  if (cluster.uid !== undefined && cluster.uid !== facts.uid) {
    throw new ClusterError(
      `llm-serving:cluster.uid = ${cluster.uid}: context ${cluster.context} leads to another cluster, ` +
        `${server} with uid ${facts.uid}; nothing was changed there. Correct the context or the uid`,
    );
  }
}
