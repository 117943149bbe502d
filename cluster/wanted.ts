import { bootConfigMapName } from "../components/clefServe.ts";
import {
  CLEF_SERVE,
  CLIENTS_POLICY,
  CODER_PREDICTOR,
  NAMESPACE,
  REASONING_SERVICE,
} from "../components/names.ts";
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
  return [
    { kind: "Namespace", name: NAMESPACE },
    ...workloadsOf(config).map(({ name }) => ({ kind: "Deployment", name }) as const),
    ...[CLEF_SERVE, CODER_PREDICTOR, REASONING_SERVICE].map(
      (name) => ({ kind: "Service", name }) as const,
    ),
    { kind: "ConfigMap", name: bootConfigMapName(bootFiles) },
    ...(config.access.clients.length > 0
      ? [{ kind: "NetworkPolicy", name: CLIENTS_POLICY } as const]
      : []),
  ];
}
