import { CustomObjectsApi, type KubeConfig } from "@kubernetes/client-node";
import { MONITORING_API, type MonitoringKind } from "../components/names.ts";
import { isStatus } from "./connection.ts";

const KINDS: readonly MonitoringKind[] = ["PrometheusRule", "PodMonitor"];

/**
 * Which kinds of the Prometheus operator the cluster has. Discovery, which every authenticated identity may ask; none of
 * them where a cluster keeps that to itself.
 * @throws ApiException | Error when the API server answers otherwise than by a list, 403 or 404
 */
export async function readMonitoringKinds(
  kubeConfig: KubeConfig,
): Promise<readonly MonitoringKind[]> {
  try {
    const { resources } = await kubeConfig
      .makeApiClient(CustomObjectsApi)
      .getAPIResources(MONITORING_API);
    return KINDS.filter((kind) => resources.some((resource) => resource.kind === kind));
  } catch (error) {
    if (isStatus(error, 404) || isStatus(error, 403)) return [];
    throw error;
  }
}
