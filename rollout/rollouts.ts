import * as pulumi from "@pulumi/pulumi";
import type { Deployment } from "@pulumi/kubernetes/apps/v1/deployment.js";
import { kubeConfigOf } from "../cluster/connection.ts";
import type { StackConfig } from "../config.ts";
import { deadlines } from "../gpu/deadlines.ts";
import { workloadsOf } from "../stackPlan.ts";
import { openReader } from "./reader.ts";
import type { RolloutTarget } from "./state.ts";
import { waitForRollouts } from "./wait.ts";

/** Timestamps in Kubernetes are whole seconds, and so is the cluster's clock as HTTP states it. */
const CLOCK_MS = 2000;

/**
 * Waits in an `up` until each Deployment's pods are Ready and no former pod is left, and says meanwhile what it waits
 * for. One wait for all, once the engine has sent every update: none holds up another, whatever `--parallel` says.
 * It looks at every Deployment, changed or not: a rollout that a former run left unfinished fails this one too.
 * @param deployments those that this run has registered
 * @throws pulumi.RunError with the cluster's reason, a line for each rollout that cannot end or did not in time
 */
export async function awaitRollouts(
  config: StackConfig,
  deployments: readonly Deployment[],
): Promise<void> {
  await sent(deployments);
  const reader = await openReader(kubeConfigOf(config.cluster.context));
  try {
    const since = reader.clusterNow() - performance.now() - CLOCK_MS;
    const problems = await waitForRollouts(rolloutTargets(config), reader, since, (line) => {
      void pulumi.log.info(line);
    });
    if (problems.length === 0) return;
    throw new pulumi.RunError(
      [...problems, "the update is applied; correct the cause and run `pulumi up` again"].join(
        "\n",
      ),
    );
  } finally {
    await reader.close();
  }
}

/** What is waited for, and how long at most: a receiver waits for its donor's grace before its own time begins. */
export function rolloutTargets(config: StackConfig): readonly RolloutTarget[] {
  const workloads = workloadsOf(config);
  const longestGrace = Math.max(...workloads.map(({ graceSeconds }) => graceSeconds));
  return workloads.map(({ name, replicas, graceSeconds, coldStartSeconds, pullSeconds }) => ({
    name,
    replicas,
    graceSeconds,
    deadlineSeconds: deadlines({ coldStartSeconds, graceSeconds: longestGrace, pullSeconds })
      .awaitSeconds,
  }));
}

/** Resolves when the engine has created or updated all of them; never, when one of them failed: the run ends then. */
function sent(deployments: readonly Deployment[]): Promise<void> {
  return new Promise((resolve) => {
    pulumi.all(deployments.map(({ urn }) => urn)).apply(() => {
      resolve();
    });
  });
}
