import { type PodState, type Recording, waitsForCard } from "./recording.ts";

/** The moments of a pod's life; undefined: not within the recording, or not yet at its end. */
export interface Moments {
  readonly created?: number | undefined;
  readonly bound?: number | undefined;
  readonly ready?: number | undefined;
  /** Its deletion was asked for; until `gone` it terminates and holds its cards. */
  readonly deleted?: number | undefined;
  readonly gone?: number | undefined;
}

/** One pod as a recording shows it. */
export interface PodLife {
  readonly uid: string;
  readonly name: string;
  /** Label `app`: the name of its Deployment. */
  readonly app: string;
  /** Where it is or was bound, else the node that it selects. */
  readonly node: string;
  readonly cards: number;
  readonly graceSeconds: number;
  /** It was there, and Ready, when the recording began. */
  readonly served: boolean;
  /** The scheduler said at least once that no card is free for it. */
  readonly waitedForCard: boolean;
  /** Milliseconds of the lab since the recording began. */
  readonly lab: Moments;
}

/** The lives of all pods of a recording, in the order in which they appeared. */
export function podLives({ changes }: Recording): PodLife[] {
  const lives = new Map<string, PodLife>();
  for (const { at, gone, state } of changes) {
    if (state.kind !== "pod") continue;
    const life = lives.get(state.uid) ?? begun(state, at);
    lives.set(state.uid, continued(life, state, at, gone));
  }
  return [...lives.values()];
}

function begun(pod: PodState, at: number): PodLife {
  const { uid, name, app, cards, graceSeconds } = pod;
  const there = at === 0;
  return {
    ...{ uid, name, app, cards, graceSeconds },
    node: pod.node ?? pod.wantsNode ?? "",
    served: there && pod.ready,
    waitedForCard: false,
    lab: there ? {} : { created: at },
  };
}

function continued(life: PodLife, pod: PodState, at: number, gone: boolean): PodLife {
  const { lab } = life;
  // What held from the first moment on is no event of this recording.
  const since = (moment: number | undefined, holds: boolean) =>
    moment ?? (holds && at > 0 ? at : undefined);
  const bound = life.served ? undefined : since(lab.bound, pod.node !== undefined);
  const ready = life.served ? undefined : since(lab.ready, pod.ready && !pod.deleting);
  return {
    ...life,
    node: pod.node ?? life.node,
    waitedForCard: life.waitedForCard || waitsForCard(pod),
    lab: {
      created: lab.created,
      bound,
      ready,
      // A pod that was never bound goes without terminating.
      deleted: since(lab.deleted, pod.deleting || gone),
      gone: since(lab.gone, gone),
    },
  };
}
