import * as pulumi from "@pulumi/pulumi";
import { answered, kubeConfigOf } from "./cluster/connection.ts";
import { type ClusterState, evaluateCluster } from "./cluster/evaluate.ts";
import { ClusterError, type ClusterFacts, LAB_LABEL } from "./cluster/facts.ts";
import { readFacts } from "./cluster/read.ts";
import { referencesOf } from "./cluster/references.ts";
import { wantedObjects } from "./cluster/wanted.ts";
import type { ClusterConfig, StackConfig } from "./config.ts";

export type { ClusterState } from "./cluster/evaluate.ts";

/** Set to 1, it lets one preview run without its cluster; refused in `up`. */
const OFFLINE = "LLM_SERVING_OFFLINE";

/** One run of the program, as far as the cluster is concerned. */
export interface ClusterRun {
  /** Name of the stack. */
  readonly stack: string;
  /** What clef-serve boots from. */
  readonly bootFiles: Readonly<Record<string, string>>;
  readonly preview: boolean;
  /** Whether this run takes over live objects. */
  readonly adoption: boolean;
}

/**
 * What the live cluster means for the stack; undefined in an offline preview.
 * @throws pulumi.RunError when it cannot be known, or the cluster is not the stack's
 */
export async function clusterState(
  config: StackConfig,
  { stack, bootFiles, preview, adoption }: ClusterRun,
): Promise<ClusterState | undefined> {
  try {
    if (offline(preview)) return undefined;
    return evaluateCluster(await readCluster(config), {
      config,
      stack,
      wanted: wantedObjects(config, bootFiles),
      adopting: adoption,
      now: new Date(),
    });
  } catch (error) {
    // Without this the CLI would print a stack trace.
    throw error instanceof ClusterError ? new pulumi.RunError(error.message) : error;
  }
}

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

/**
 * Reads the cluster that the stack names, once, and refuses any other. It never writes; get and list are enough.
 * @throws {ClusterError} when the context is missing, the cluster does not answer within 5 s, refuses a
 * required read, or is not the stack's
 */
export async function readCluster(config: StackConfig): Promise<ClusterFacts> {
  const { cluster } = config;
  const kubeConfig = kubeConfigOf(cluster.context);
  const server = kubeConfig.getCurrentCluster()?.server ?? "no server";
  const secrets = referencesOf(config).filter(({ kind }) => kind === "Secret");
  const names = new Set(secrets.map(({ name }) => name));
  const read = await answered(readFacts(kubeConfig, [...names]), cluster.context, server);
  const facts = { ...read, server };
  checkIdentity(cluster, facts);
  return facts;
}

/**
 * Refuses a cluster that is not the stack's.
 * @throws {ClusterError}
 */
export function checkIdentity(
  cluster: ClusterConfig,
  { server, uid, lab }: Pick<ClusterFacts, "server" | "uid" | "lab">,
): void {
  if (cluster.lab === true && lab === undefined) {
    throw new ClusterError(
      `llm-serving:cluster.lab = true: the cluster at ${server} is no lab (kube-system has no label ` +
        `${LAB_LABEL}); nothing was changed there. Start one with \`make lab\`, then \`. .lab/env\``,
    );
  }
  if (cluster.uid !== undefined && cluster.uid !== uid) {
    throw new ClusterError(
      `llm-serving:cluster.uid = ${cluster.uid}: context ${cluster.context} leads to another cluster, ` +
        `${server} with uid ${uid}; nothing was changed there. Correct the context or the uid`,
    );
  }
}
