import { CoreV1Api, type KubeConfig, makeInformer, type V1Pod } from "@kubernetes/client-node";

/** All pods of a cluster as a watch tells of them. */
export class PodWatch {
  readonly #informer: ReturnType<typeof makeInformer<V1Pod>>;
  readonly #waiting = new Set<() => void>();
  #stopped = false;

  constructor(kubeConfig: KubeConfig) {
    const core = kubeConfig.makeApiClient(CoreV1Api);
    this.#informer = makeInformer<V1Pod>(kubeConfig, "/api/v1/pods", () =>
      core.listPodForAllNamespaces(),
    );
    const tell = () => {
      for (const look of this.#waiting) look();
    };
    for (const verb of ["add", "update", "delete"] as const) this.#informer.on(verb, tell);
    // A watch ends from time to time, and the informer leaves it to its user to begin again.
    this.#informer.on("error", () => {
      if (!this.#stopped) void this.#informer.start();
    });
  }

  async start(): Promise<void> {
    await this.#informer.start();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#informer.stop();
  }

  /** The pods as of now. */
  pods(): readonly V1Pod[] {
    return this.#informer.list();
  }

  /**
   * Waits for the pods to be as `check` wants them.
   *
   * @param check is asked again after each change; undefined: not yet
   * @throws Error that says what was awaited, after `seconds`
   */
  async until<T>(
    what: string,
    check: (pods: readonly V1Pod[]) => T | undefined,
    seconds = 30,
  ): Promise<T> {
    const now = check(this.pods());
    if (now !== undefined) return now;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const look = () => {
      const answer = check(this.pods());
      if (answer !== undefined) resolve(answer);
    };
    const timer = setTimeout(() => {
      reject(new Error(`${what}: not after ${seconds} s`));
    }, seconds * 1000);
    this.#waiting.add(look);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(look);
    }
  }
}
