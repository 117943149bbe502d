/** The deadline chain of a rollout: each wait is longer than everything that it waits for. */

/** Period of the startup probe in seconds. @see KServe, which probes 60 times every 10 s. */
export const probePeriodSeconds = 10;

/**
 * Time for pulling an image in seconds. Derived: an engine image of 10 GB at 20 MB/s takes 500 s.
 */
export const imagePullSeconds = 600;

/** Shortest startup budget in seconds. @see KServe (60 x 10 s). */
const minStartupBudgetSeconds = 600;

/** Startup budget as a multiple of the cold start: a slow disk must not become a crash loop. */
const coldStartMargin = 2.5;

/**
 * Slack in seconds between two links of the chain. Derived: scheduling, the probe period and the
 * controller's own delay take a few seconds each, and a deadline that equals its content is late.
 */
const slackSeconds = 60;

/** The waits of one Deployment, all in seconds except the threshold. */
export interface Deadlines {
  /** `startupProbe.failureThreshold` at a period of {@link probePeriodSeconds}. */
  readonly failureThreshold: number;
  /** How long the startup probe lets a pod load: failureThreshold x period. */
  readonly startupBudgetSeconds: number;
  /** `spec.progressDeadlineSeconds`. */
  readonly progressDeadlineSeconds: number;
  /** How long `up` waits for the rollout, after a create as after an update. */
  readonly awaitSeconds: number;
}

/**
 * Computes the chain grace + image pull + startup budget < progress deadline < wait of `up`.
 *
 * The grace counts because a card moves only after its last holder has gone: under Recreate the new
 * pod exists only then, and a receiver on a full node is Pending until then.
 *
 * @param times.coldStartSeconds from container start to the first answer, 1..3600
 * @param times.graceSeconds terminationGracePeriodSeconds, 1..600
 * @param times.pullSeconds allowance for the image pull, default {@link imagePullSeconds}
 * @throws RangeError when a time is not a finite number of at least 0
 */
export function deadlines(times: {
  readonly coldStartSeconds: number;
  readonly graceSeconds: number;
  readonly pullSeconds?: number | undefined;
}): Deadlines {
  const { coldStartSeconds, graceSeconds, pullSeconds = imagePullSeconds } = times;
  refuseOthers({ coldStartSeconds, graceSeconds, pullSeconds });
  const wanted = Math.max(minStartupBudgetSeconds, coldStartMargin * coldStartSeconds);
  const failureThreshold = Math.ceil(wanted / probePeriodSeconds);
  const startupBudgetSeconds = failureThreshold * probePeriodSeconds;
  const progressDeadlineSeconds = Math.ceil(
    graceSeconds + pullSeconds + startupBudgetSeconds + slackSeconds,
  );
  return {
    failureThreshold,
    startupBudgetSeconds,
    progressDeadlineSeconds,
    awaitSeconds: progressDeadlineSeconds + slackSeconds,
  };
}

/** The waits of a Job that prepares a start, all in seconds except the limit. */
export interface PreparationDeadlines {
  /** `spec.backoffLimit`: pods after the first. */
  readonly backoffLimit: number;
  /** `spec.activeDeadlineSeconds`: all pods together. */
  readonly activeDeadlineSeconds: number;
  /** Pulumi's `customTimeouts` for create and for update. */
  readonly pulumiTimeoutSeconds: number;
}

/**
 * Computes image pull + every attempt < the Job's deadline < Pulumi timeout, so that what ends first is the Job, which
 * knows the reason.
 *
 * One more attempt than the first: pip retries each download by itself, so that a second pod is for a node that went away.
 *
 * @param times.pullSeconds allowance for the image pull
 * @param times.workSeconds what one attempt may take
 * @throws RangeError when a time is not a finite number of at least 0
 */
export function preparationDeadlines(times: {
  readonly pullSeconds: number;
  readonly workSeconds: number;
}): PreparationDeadlines {
  refuseOthers(times);
  const backoffLimit = 1;
  const work = (backoffLimit + 1) * times.workSeconds;
  const activeDeadlineSeconds = Math.ceil(times.pullSeconds + work + slackSeconds);
  return {
    backoffLimit,
    activeDeadlineSeconds,
    pulumiTimeoutSeconds: activeDeadlineSeconds + slackSeconds,
  };
}

function refuseOthers(times: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(times)) {
    if (!Number.isFinite(value) || value < 0) {
      throw new RangeError(`${name} = ${value}: not a duration in seconds`);
    }
  }
}
