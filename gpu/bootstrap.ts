import { imagePullSeconds } from "./deadlines.ts";

/**
 * How clef-serve's pods come by their packages: `install` runs pip at each start, `prepared` finds them on a volume
 * that a Job has filled, `image` brings them along.
 */
export type Bootstrap = "install" | "prepared" | "image";

/** What a way to start means for the waits of a rollout, in seconds. */
export interface BootstrapTimes {
  /** From the container's start to the first answer, where the stack does not state it. */
  readonly coldStartSeconds: number;
  /** Allowance for pulling the image. */
  readonly pullSeconds: number;
}

/**
 * The times of each way. A stack's own `coldStartSeconds` wins: nobody else knows how long its model loads.
 *
 * - `install`: 240 s, as measured on the platform.
 * - `prepared` and `image`: without pip, what remains is Python, importing the packages (seconds: `make bench-coldstart`)
 *   and loading the model, which nobody measured apart. 60 s leave most of a minute for that (derived): a prediction that
 *   is too long by some seconds is better than one that is too short, and the deadlines have their floor of 600 s anyway.
 * - An image with all packages is larger than a Python base image: 12.5 GB, the largest in the case's reports, take 625 s
 *   at 20 MB/s (E09).
 */
export const BOOTSTRAP_TIMES: Readonly<Record<Bootstrap, BootstrapTimes>> = {
  install: { coldStartSeconds: 240, pullSeconds: imagePullSeconds },
  prepared: { coldStartSeconds: 60, pullSeconds: imagePullSeconds },
  image: { coldStartSeconds: 60, pullSeconds: 900 },
};
