import { AdmissionregistrationV1Api, type KubeConfig } from "@kubernetes/client-node";
import {
  ADMISSION_GUARD,
  type LiveGuard,
  type LiveGuardObject,
} from "../components/admissionGuard.ts";
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

async function live(request: Promise<{ readonly spec?: unknown }>): Promise<LiveGuardObject> {
  try {
    return await request;
  } catch (error) {
    if (isStatus(error, 404)) return "absent";
    if (isStatus(error, 403)) return "forbidden";
    throw error;
  }
}
