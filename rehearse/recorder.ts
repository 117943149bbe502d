import { type KubeConfig, Watch } from "@kubernetes/client-node";
import { NAMESPACE } from "../components/names.ts";
import { watched, type WatchedObject } from "./observe.ts";
import { type Change, type Recording, World } from "./recording.ts";

/** What a watch sends; a bookmark's object has nothing but its resourceVersion. */
interface WatchEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: WatchedObject;
}

/** Annotation of the bookmark that follows the objects which were there when the watch began. */
const INITIAL_EVENTS_END = "k8s.io/initial-events-end";

/**
 * Records namespace llm-serving by one streaming watch of each collection: first the objects that are there, then
 * every change from that very resourceVersion on, so that none is missed and none is seen twice.
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#streaming-lists
 */
export class Recorder {
  readonly #kubeConfig: KubeConfig;
  readonly #began = performance.now();
  readonly #changes: Change[] = [];
  readonly #world = new World();
  readonly #stop = new AbortController();
  #changed = Promise.withResolvers<undefined>();
  #failure: Error | undefined;

  private constructor(kubeConfig: KubeConfig) {
    this.#kubeConfig = kubeConfig;
  }

  /**
   * Begins to record.
   * @throws Error when the cluster does not answer
   */
  static async start(kubeConfig: KubeConfig): Promise<Recorder> {
    const recorder = new Recorder(kubeConfig);
    await Promise.all(watched.map((collection) => recorder.#follow(collection)));
    return recorder;
  }

  /** Milliseconds since the recording began. */
  now(): number {
    return performance.now() - this.#began;
  }

  /**
   * Waits until `check` is content; it is asked after every change.
   * @param milliseconds from now, after which waiting ends
   * @returns whether it was content
   * @throws Error when a watch was lost: what follows would not be the whole story
   */
  async until(check: (world: World) => boolean, milliseconds: number): Promise<boolean> {
    const timeout = Promise.withResolvers<"late">();
    const timer = setTimeout(() => {
      timeout.resolve("late");
    }, milliseconds);
    try {
      for (;;) {
        if (this.#failure !== undefined) throw this.#failure;
        if (check(this.#world)) return true;
        if ((await Promise.race([this.#changed.promise, timeout.promise])) === "late") return false;
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** Lets {@link until} ask again, for a check that also depends on something else than the cluster. */
  lookAgain(): void {
    this.#changed.resolve(undefined);
    this.#changed = Promise.withResolvers();
  }

  /**
   * Ends the recording.
   * @throws Error when a watch was lost on the way
   */
  stop(): Recording {
    this.#stop.abort();
    if (this.#failure !== undefined) throw this.#failure;
    return { changes: this.#changes, lasted: this.now() };
  }

  /** Resolves once everything is known that was there. */
  async #follow({ path, stateOf }: (typeof watched)[number]): Promise<void> {
    const place = path.replace("{namespace}", NAMESPACE);
    const watch = new Watch(this.#kubeConfig);
    const complete = Promise.withResolvers<undefined>();
    let version = "";
    let initial = true;
    const take = ({ type, object }: WatchEvent): void => {
      if (type === "ERROR") throw new Error("the server ended it");
      version = object.metadata.resourceVersion;
      if (type !== "BOOKMARK") {
        const at = initial ? 0 : this.now();
        this.#add({ at, gone: type === "DELETED", state: stateOf(object) });
      } else if (object.metadata.annotations?.[INITIAL_EVENTS_END] === "true") {
        initial = false;
        complete.resolve(undefined);
      }
    };
    const begin = async (): Promise<void> => {
      const from = initial
        ? { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" }
        : { resourceVersion: version };
      const controller = await watch.watch(
        place,
        { ...from, allowWatchBookmarks: true },
        (_, __, event: WatchEvent) => {
          if (this.#stop.signal.aborted) return;
          try {
            take(event);
          } catch (error) {
            this.#fail(place, error);
          }
        },
        (error: unknown) => {
          if (this.#stop.signal.aborted || this.#failure !== undefined) return;
          const silent = error === null || (error as Error).name === "TimeoutError";
          // A watch ends when nothing happens for 30 s; it goes on where it ended.
          if (silent && !initial) void begin();
          else {
            this.#fail(place, error);
            complete.reject(this.#failure);
          }
        },
      );
      this.#stop.signal.addEventListener("abort", () => {
        controller.abort();
      });
    };
    await begin();
    await complete.promise;
  }

  #fail(place: string, error: unknown): void {
    const cause = error instanceof Error ? error.message : "it ended before it began";
    this.#failure ??= new Error(`the watch of ${place} was lost: ${cause}`);
    this.lookAgain();
  }

  #add(change: Change): void {
    this.#changes.push(change);
    this.#world.apply(change);
    this.lookAgain();
  }
}
