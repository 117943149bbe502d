import type { StackConfig } from "../config/types.ts";
import { NAMESPACE } from "../components/names.ts";
import { referencesOf } from "../cluster/references.ts";

/**
 * Stand-ins for the objects that a stack refers to and somebody else makes: empty Secrets, and volume claims with a
 * volume each, without which the scheduler would place no pod.
 * @returns manifests, each object once
 */
export function dummies(configs: readonly StackConfig[]): object[] {
  const references = configs.flatMap(referencesOf);
  const namesOf = (wanted: string) =>
    new Set(references.filter(({ kind }) => kind === wanted).map(({ name }) => name));
  return [
    ...[...namesOf("Secret")].map((name) => ({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, namespace: NAMESPACE },
    })),
    ...[...namesOf("PersistentVolumeClaim")].flatMap((name) => {
      const common = { accessModes: ["ReadOnlyMany"], storageClassName: "" };
      const storage = "1Gi";
      return [
        {
          apiVersion: "v1",
          kind: "PersistentVolume",
          metadata: { name },
          spec: {
            ...common,
            capacity: { storage },
            hostPath: { path: "/nowhere" },
            claimRef: { namespace: NAMESPACE, name },
          },
        },
        {
          apiVersion: "v1",
          kind: "PersistentVolumeClaim",
          metadata: { name, namespace: NAMESPACE },
          spec: { ...common, volumeName: name, resources: { requests: { storage } } },
        },
      ];
    }),
  ];
}
