import {
  AppsV1Api,
  AuthorizationV1Api,
  BatchV1Api,
  CoreV1Api,
  type KubeConfig,
  NetworkingV1Api,
  setHeaderOptions,
  type V1DeploymentSpec,
  type V1PersistentVolumeClaimSpec,
  type V1PersistentVolumeClaimStatus,
  V1ResourceAttributes,
  V1SelfSubjectAccessReview,
  V1SelfSubjectAccessReviewSpec,
} from "@kubernetes/client-node";
import { NAMESPACE } from "../components/names.ts";
import { isStatus } from "./connection.ts";
import { readCoderService, readGuard } from "./guard.ts";
import { readMonitoringKinds } from "./monitoring.ts";
import { type ClusterFacts, LAB_LABEL, type LiveKind, type LiveObject } from "./facts.ts";

/** Asks for metadata alone: no content of a ConfigMap or Secret ever leaves the cluster. */
const metadataOf = (form: string) =>
  setHeaderOptions("Accept", `application/json;as=${form};g=meta.k8s.io;v=v1`);

/** What an object of any kind has in common. */
interface WithMetadata {
  readonly metadata?: LiveObject["metadata"] & Pick<LiveObject, "managedFields">;
  readonly spec?: unknown;
  readonly status?: unknown;
}

/** What a list of any kind has in common; an empty list of metadata has `items: null`, whatever the client's types say. */
interface Listed {
  readonly items: readonly WithMetadata[] | null;
}

/**
 * Reads the facts, everything side by side. Get and list are enough; kinds of the namespace that this
 * identity may not read are left out and named.
 * @param secretNames Secrets of namespace llm-serving whose existence matters
 * @throws ApiException | Error when kube-system, the nodes or the pods cannot be read
 */
export async function readFacts(
  kubeConfig: KubeConfig,
  secretNames: readonly string[],
): Promise<Omit<ClusterFacts, "server">> {
  const core = kubeConfig.makeApiClient(CoreV1Api);
  const unread = new Set<LiveKind>();
  const [
    kubeSystem,
    nodes,
    pods,
    namespace,
    guard,
    coderService,
    monitoringKinds,
    mayPatch,
    objects,
    secrets,
  ] = await Promise.all([
    core.readNamespace({ name: "kube-system" }),
    core.listNode(),
    core.listPodForAllNamespaces({
      fieldSelector: "status.phase!=Succeeded,status.phase!=Failed",
    }),
    existing("Namespace", core.readNamespace({ name: NAMESPACE })),
    readGuard(kubeConfig),
    readCoderService(kubeConfig),
    readMonitoringKinds(kubeConfig),
    patchAllowed(kubeConfig),
    readObjects(kubeConfig, unread),
    Promise.all(
      secretNames.map((name) =>
        unlessForbidden(
          "Secret",
          existing(
            "Secret",
            core.readNamespacedSecret(
              { name, namespace: NAMESPACE },
              metadataOf("PartialObjectMetadata"),
            ),
          ),
          unread,
        ),
      ),
    ),
  ]);
  return {
    uid: kubeSystem.metadata?.uid ?? "",
    lab: kubeSystem.metadata?.labels?.[LAB_LABEL],
    nodes: nodes.items,
    pods: pods.items,
    objects: [...namespace, ...objects, ...secrets.flat()],
    unread,
    mayPatch,
    monitoringKinds,
    ...(namespace.length === 0 ? {} : { guard, coderService }),
  };
}

/** Every object of the namespace that matters; a namespace that does not exist has none. */
async function readObjects(
  kubeConfig: KubeConfig,
  unread: Set<LiveKind>,
): Promise<readonly LiveObject[]> {
  const apps = kubeConfig.makeApiClient(AppsV1Api);
  const core = kubeConfig.makeApiClient(CoreV1Api);
  const here = { namespace: NAMESPACE };
  const metadata = metadataOf("PartialObjectMetadataList");
  const lists: readonly (readonly [LiveKind, Promise<Listed>])[] = [
    ["Deployment", apps.listNamespacedDeployment(here)],
    ["StatefulSet", apps.listNamespacedStatefulSet(here, metadata)],
    ["DaemonSet", apps.listNamespacedDaemonSet(here, metadata)],
    ["Job", kubeConfig.makeApiClient(BatchV1Api).listNamespacedJob(here, metadata)],
    ["Service", core.listNamespacedService(here, metadata)],
    ["ConfigMap", core.listNamespacedConfigMap(here, metadata)],
    [
      "NetworkPolicy",
      kubeConfig.makeApiClient(NetworkingV1Api).listNamespacedNetworkPolicy(here, metadata),
    ],
    ["PersistentVolumeClaim", core.listNamespacedPersistentVolumeClaim(here)],
  ];
  const objects = await Promise.all(
    lists.map(([kind, list]) =>
      unlessForbidden(
        kind,
        list.then(({ items }) => (items ?? []).map((item) => liveObject(kind, item))),
        unread,
      ),
    ),
  );
  return objects.flat();
}

/** One object, or none where there is none. */
async function existing(
  kind: LiveKind,
  request: Promise<WithMetadata>,
): Promise<readonly LiveObject[]> {
  try {
    return [liveObject(kind, await request)];
  } catch (error) {
    if (isStatus(error, 404)) return [];
    throw error;
  }
}

function liveObject(
  kind: LiveKind,
  {
    metadata: { name = "", annotations = {}, ownerReferences = [], managedFields } = {},
    spec,
    status,
  }: WithMetadata,
): LiveObject {
  const object = { kind, metadata: { name, annotations, ownerReferences } };
  switch (kind) {
    case "Deployment":
      return { ...object, managedFields, replicas: (spec as V1DeploymentSpec).replicas };
    case "PersistentVolumeClaim": {
      const { accessModes = [] } = spec as V1PersistentVolumeClaimSpec;
      const phase = (status as V1PersistentVolumeClaimStatus | undefined)?.phase ?? "Pending";
      return { ...object, claim: { phase, accessModes } };
    }
    default:
      return object;
  }
}

async function unlessForbidden(
  kind: LiveKind,
  request: Promise<readonly LiveObject[]>,
  unread: Set<LiveKind>,
): Promise<readonly LiveObject[]> {
  try {
    return await request;
  } catch (error) {
    if (!isStatus(error, 403)) throw error;
    unread.add(kind);
    return [];
  }
}

/** Whether this identity may patch here. Asking creates nothing, and every authenticated user may ask. */
async function patchAllowed(kubeConfig: KubeConfig): Promise<boolean | undefined> {
  const resourceAttributes = Object.assign(new V1ResourceAttributes(), {
    group: "apps",
    resource: "deployments",
    verb: "patch",
    namespace: NAMESPACE,
  });
  const spec = Object.assign(new V1SelfSubjectAccessReviewSpec(), { resourceAttributes });
  const body = Object.assign(new V1SelfSubjectAccessReview(), { spec });
  try {
    const { status } = await kubeConfig
      .makeApiClient(AuthorizationV1Api)
      .createSelfSubjectAccessReview({ body });
    return status?.allowed;
  } catch (error) {
    if (isStatus(error, 403)) return undefined;
    throw error;
  }
}
