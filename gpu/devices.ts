/** What one pod derives from its number of cards. */

/**
 * Size of the memory-backed /dev/shm in GiB: 4 for ranks that talk over NCCL, else 0 (no volume).
 *
 * Kubernetes gives a container 64 MiB, which NCCL exceeds. The size counts against the container's
 * memory limit.
 *
 * @param tensorParallel cards of the pod, 1 or more
 */
export function shmGiB(tensorParallel: number): number {
  return tensorParallel > 1 ? 4 : 0;
}

/**
 * Value of candle-vllm's `--d`: device ids relative to the container, "0,1" for two cards. Without
 * it candle-vllm uses device 0 only, whatever the pod holds.
 *
 * @param tensorParallel cards of the pod, 1 or more
 */
export function deviceList(tensorParallel: number): string {
  return Array.from({ length: tensorParallel }, (_, id) => id).join(",");
}
