import type { EndpointsState, PodState, Recording } from "../../rehearse/recording.ts";
import type { SimulatedTimes } from "../../rehearse/realTime.ts";

/** Cold start 240 s, grace 60 s, 1 s of the lab for 60 s. */
export const TIMES: SimulatedTimes = {
  timeScale: 60,
  coldStartSeconds: () => 240,
  terminationSeconds: () => 60,
  nodeCards: new Map([["worker-1", 4]]),
};

/** What the scheduler says of a pod that finds no card. */
export const NO_CARD = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. preemption: none.";

/** A recording, written down change by change; times in milliseconds of the lab. */
export class Script {
  readonly #changes: Recording["changes"][number][] = [];

  /** A pod as it is from `at` on; its uid is its name, its app what precedes the last dash. */
  pod(at: number, name: string, state: Partial<PodState> = {}, gone = false): this {
    const base: PodState = {
      ...{ kind: "pod", uid: name, name, app: name.replace(/-[^-]*$/, "") },
      ...{ node: "worker-1", wantsNode: "worker-1", cards: 1, graceSeconds: 60 },
      ...{ deleting: false, ready: false },
    };
    this.#changes.push({ at, gone, state: { ...base, ...state } });
    return this;
  }

  /** A pod that serves, as it is deleted at `deleted` and gone at `gone`. */
  goes(name: string, deleted: number, gone: number): this {
    return this.pod(0, name, { ready: true })
      .pod(deleted, name, { ready: true, deleting: true })
      .pod(gone, name, { ready: true, deleting: true }, true);
  }

  /** A new pod, by its moments. */
  comes(name: string, created: number, bound: number, ready: number, message?: string): this {
    this.pod(created, name, { node: undefined, unschedulable: message });
    return this.pod(bound, name).pod(ready, name, { ready: true });
  }

  /** The pods that serve a Service from `at` on, in one EndpointSlice. */
  endpoints(at: number, service: string, ...pods: readonly string[]): this {
    const endpoints = pods.map((pod) => ({ pod, serving: true, terminating: false }));
    const state: EndpointsState = { kind: "endpoints", name: `${service}-x`, service, endpoints };
    this.#changes.push({ at, gone: false, state });
    return this;
  }

  /** A Service as it is from `at` on. */
  service(at: number, name: string, selects: string, uid = "1", clusterIP = "10.96.0.1"): this {
    const state = { kind: "service", name, uid, clusterIP, selects } as const;
    this.#changes.push({ at, gone: false, state });
    return this;
  }

  /** @param lasted milliseconds */
  recording(lasted: number): Recording {
    return { changes: this.#changes.toSorted((a, b) => a.at - b.at), lasted };
  }
}
