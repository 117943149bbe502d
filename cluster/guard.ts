import { AdmissionregistrationV1Api, CoreV1Api, type KubeConfig } from "@kubernetes/client-node";
import {
  ADMISSION_GUARD,
  type LiveGuard,
  type LiveGuardObject,
} from "../components/admissionGuard.ts";
import { CODER_PREDICTOR, NAMESPACE } from "../components/names.ts";
import type { LiveCoderService } from "./coderService.ts";
import { isStatus } from "./connection.ts";

/**
 * Reads the admission guard. Its objects are cluster-scoped: a reviewer's rights may end before them.
 * @throws ApiException | Error when the API server answers otherwise than by them, 403 or 404
 */
export async function readGuard(kubeConfig: KubeConfig): Promise<LiveGuard> {
  const api = kubeConfig.makeApiClient(AdmissionregistrationV1Api);
  const name = { name: ADMISSION_GUARD };
  const [policy, binding] = await Promise.all([
    live(api.readValidatingAdmissionPolicy(name)),
    live(api.readValidatingAdmissionPolicyBinding(name)),
  ]);
  return { policy, binding };
}

/**
 * Reads Service coder-predictor; undefined where this identity may not.
 * @throws ApiException | Error when the API server answers otherwise than by it, 403 or 404
 */
export async function readCoderService(
  kubeConfig: KubeConfig,
): Promise<LiveCoderService | undefined> {
  const service = await live(
    kubeConfig
      .makeApiClient(CoreV1Api)
      .readNamespacedService({ name: CODER_PREDICTOR, namespace: NAMESPACE }),
  );
  return service === "forbidden" ? undefined : service;
}

async function live(request: Promise<{ readonly spec?: unknown }>): Promise<LiveGuardObject> {
  try {
    return await request;
  } catch (error) {
    if (isStatus(error, 404)) return "absent";
    if (isStatus(error, 403)) return "forbidden";
    throw error;
  }
}
