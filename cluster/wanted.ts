import { bootConfigMapName } from "../components/bootFiles.ts";
import {
  CLEF_SERVE,
  CLIENTS_POLICY,
  CODER_PREDICTOR,
  NAMESPACE,
  REASONING_SERVICE,
} from "../components/names.ts";
import { preparingJobName } from "../components/preparingJob.ts";
import type { StackConfig } from "../config.ts";
import { workloadsOf } from "../stackPlan.ts";
import type { ObjectName } from "./facts.ts";

/**
 * Kind and name of every object that the program creates, of the kinds that are read live. A test holds it
 * against the committed resource graphs.
 * @param bootFiles what clef-serve boots from: its ConfigMap is named by content
 */
export function wantedObjects(
  config: StackConfig,
  bootFiles: Readonly<Record<string, string>>,
): readonly ObjectName[] {
  const job = preparingJobName({ ...config.clefServe, bootFiles });
  return [
    { kind: "Namespace", name: NAMESPACE },
    ...workloadsOf(config).map(({ name }) => ({ kind: "Deployment", name }) as const),
    ...[CLEF_SERVE, CODER_PREDICTOR, REASONING_SERVICE].map(
      (name) => ({ kind: "Service", name }) as const,
    ),
    ...(config.clefServe.bootstrap === "image"
      ? []
      : [{ kind: "ConfigMap", name: bootConfigMapName(bootFiles) } as const]),
    ...(job === undefined ? [] : [{ kind: "Job", name: job } as const]),
    ...(config.access.clients.length > 0
      ? [{ kind: "NetworkPolicy", name: CLIENTS_POLICY } as const]
      : []),
  ];
}
