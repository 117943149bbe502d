import { NAMESPACE } from "../components/names.ts";
import type { StackConfig } from "../config.ts";
import { workloadsOf } from "../stackPlan.ts";
import type { ClusterFacts, ObjectName } from "./facts.ts";

/** An object that a pod needs and that somebody else creates. */
export interface Reference extends ObjectName {
  readonly kind: "PersistentVolumeClaim" | "Secret";
  /** Config path that names it. */
  readonly path: string;
  /** Running workloads that need it; empty while they are parked. */
  readonly users: readonly string[];
}

/** Everything in namespace llm-serving that the stack refers to and does not create. */
export function referencesOf(config: StackConfig): readonly Reference[] {
  const workloads = workloadsOf(config);
  const running = workloads.filter(({ replicas }) => replicas > 0).map(({ name }) => name);
  const { pullSecret } = config.registry;
  return [
    ...workloads.flatMap(({ key, name, replicas, bootstrap, ...names }) => {
      const users = replicas > 0 ? [name] : [];
      const packages = bootstrap === "prepared" ? names.packagesClaim : undefined;
      return [
        reference("PersistentVolumeClaim", `${key}.modelsClaim`, names.modelsClaim, users),
        reference("PersistentVolumeClaim", `${key}.packagesClaim`, packages, users),
        reference("Secret", `${key}.hfTokenSecret.name`, names.hfTokenSecret?.name, users),
      ].flat();
    }),
    ...reference("Secret", "llm-serving:registry.pullSecret", pullSecret, running),
  ];
}

function reference(
  kind: Reference["kind"],
  path: string,
  name: string | undefined,
  users: readonly string[],
): readonly Reference[] {
  return name === undefined ? [] : [{ kind, path, name, users }];
}

/** What is wrong with the references: problems, and warnings where it may come right by itself. */
export interface ReferenceFindings {
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * References of running workloads that lead nowhere: their pods would stay Pending for ever. In a namespace
 * that does not exist yet nothing can exist, so that the first `up` has to come before its claims.
 */
export function missingReferences(
  { objects, unread }: ClusterFacts,
  references: readonly Reference[],
): ReferenceFindings {
  const missing = references.filter(
    ({ kind, name, users }) =>
      users.length > 0 &&
      !unread.has(kind) &&
      !objects.some((object) => object.kind === kind && object.metadata.name === name),
  );
  if (!objects.some(({ kind }) => kind === "Namespace")) {
    const warnings = missing.map(
      ({ kind, path, name, users }) =>
        `${path} = ${name}: namespace ${NAMESPACE} does not exist yet and so neither does this ${kind}; ` +
        `run \`pulumi up\` with ${users.join(", ")} parked (replicas 0), create it, then unpark`,
    );
    return { problems: [], warnings };
  }
  const problems = missing.map(({ kind, path, name, users }) => {
    const others = objects.filter((object) => object.kind === kind);
    const known = others.map(({ metadata }) => metadata.name).join(", ");
    const allowed =
      kind === "Secret" ? "an existing Secret" : known === "" ? "there is none" : known;
    return (
      `${path} = ${name}: namespace ${NAMESPACE} has no such ${kind}, so pods of ${users.join(", ")} would never start ` +
      `(${allowed}); create it or correct the name`
    );
  });
  return { problems, warnings: [] };
}

/**
 * Claims of running workloads that exist and still keep a pod from starting: it would be Pending without a word in `up`
 * of why, as would the Job that prepares packages.
 */
export function claimFindings(
  { objects }: ClusterFacts,
  references: readonly Reference[],
): ReferenceFindings {
  const used = references.flatMap(({ kind, path, name, users }) => {
    const object = objects.find((each) => each.kind === kind && each.metadata.name === name);
    return object?.claim === undefined || users.length === 0
      ? []
      : [{ path, name, ...object.claim }];
  });
  return {
    problems: used.flatMap(({ path, name, accessModes }) =>
      path.endsWith(".packagesClaim") && accessModes.join() === "ReadWriteOncePod"
        ? [
            `${path} = ${name}: this PersistentVolumeClaim is ReadWriteOncePod, and the Job that fills it would wait for ever ` +
              "for the pods that use it (ReadWriteOnce, ReadWriteMany); name another claim",
          ]
        : [],
    ),
    warnings: used.flatMap(({ path, name, phase }) =>
      phase === "Bound"
        ? []
        : [
            `${path} = ${name}: this PersistentVolumeClaim is ${phase}, without a volume; unless its storage class binds at ` +
              "the first use, pods that mount it stay Pending",
          ],
    ),
  };
}
