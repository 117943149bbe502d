/** A count of pods, or a share of the replicas such as "25%". */
export type PodCount = number | `${number}%`;

/** What a rolling update may add and take away, in pods. */
export interface RollingUpdateBounds {
  readonly surge: number;
  readonly unavailable: number;
}

/**
 * Resolves maxSurge and maxUnavailable as the Deployment controller does: the surge rounds up, the
 * unavailable pods round down, and when both come to 0 one pod may be unavailable.
 *
 * @param replicas pods wanted, 0 or more
 * @throws RangeError when a count or a share is not a finite number of at least 0
 * @see https://github.com/kubernetes/kubernetes `ResolveFenceposts` in pkg/controller/deployment/util
 */
export function rollingUpdateBounds(
  replicas: number,
  maxSurge: PodCount,
  maxUnavailable: PodCount,
): RollingUpdateBounds {
  const surge = Math.ceil(pods(maxSurge, replicas));
  const unavailable = Math.floor(pods(maxUnavailable, replicas));
  return surge === 0 && unavailable === 0 ? { surge, unavailable: 1 } : { surge, unavailable };
}

function pods(count: PodCount, replicas: number): number {
  const value =
    typeof count === "number" ? count : (Number(count.replace(/%$/, "")) * replicas) / 100;
  if (!Number.isFinite(value) || value < 0) {
    throw new RangeError(`${count} of ${replicas} replicas: not a number of pods`);
  }
  return value;
}
