// Edits as a platform team makes them, one or several at once.
import fc from "fast-check";
import {
  cardsUsed,
  isValid,
  NODES,
  type State,
  WORKLOADS,
  type WorkloadKey,
  type WorkloadState,
} from "./state.ts";

/** One edit of a stack. */
type Step = (state: State) => State;

function changed(state: State, key: WorkloadKey, edit: Partial<WorkloadState>): State {
  const workload = { ...state.workloads[key], ...edit };
  return { ...state, workloads: { ...state.workloads, [key]: workload } };
}

const workload = fc.constantFrom(...WORKLOADS);
const engine = fc.constantFrom("candleVllm", "candleVllmNext", "reasoning" as const);
const node = fc.constantFrom(...NODES.map(({ name }) => name));

const replicas: fc.Arbitrary<Step> = fc.tuple(workload, fc.constantFrom(0, 1, 1, 2, 2)).map(
  ([key, count]) =>
    (state) =>
      changed(state, key, { replicas: count }),
);

const tensorParallel: fc.Arbitrary<Step> = fc.tuple(engine, fc.constantFrom(1, 2, 4)).map(
  ([key, cards]) =>
    (state) =>
      changed(state, key, { tensorParallel: cards }),
);

const move: fc.Arbitrary<Step> = fc.tuple(workload, node).map(
  ([key, name]) =>
    (state) =>
      changed(state, key, { node: name }),
);

const template: fc.Arbitrary<Step> = workload.map(
  (key) => (state) => changed(state, key, { stamp: state.workloads[key].stamp + 1 }),
);

const rollout: fc.Arbitrary<Step> = fc
  .tuple(workload, fc.constantFrom("recreate" as const, "surge" as const))
  .map(
    ([key, kind]) =>
      (state) =>
        changed(state, key, { rollout: kind }),
  );

const handoff: fc.Arbitrary<Step> = fc.constant((state: State) => ({
  ...state,
  backend: state.backend === "candle-vllm" ? "candle-vllm-next" : "candle-vllm",
}));

/** Two workloads exchange their nodes, or the number of their pods. */
const exchange: fc.Arbitrary<Step> = fc
  .tuple(workload, workload, fc.constantFrom("node", "replicas" as const))
  .map(([a, b, what]) => (state) => {
    const [ofA, ofB] = [state.workloads[a][what], state.workloads[b][what]];
    return changed(changed(state, a, { [what]: ofB }), b, { [what]: ofA });
  });

const edit: fc.Arbitrary<Step> = fc
  .array(fc.oneof(replicas, replicas, tensorParallel, move, template, rollout, handoff, exchange), {
    minLength: 1,
    maxLength: 4,
  })
  .map((steps) => (state) => steps.reduce((now, step) => step(now), state));

/** A handoff to a parked engine would only be refused by the preview. */
function isHandedToRunning(from: State, to: State): boolean {
  const target = to.backend === "candle-vllm" ? "candleVllm" : "candleVllmNext";
  return from.backend === to.backend || from.workloads[target].replicas > 0;
}

/** Candidates of which the fullest is taken, in most cases: a full pool is where moves are hard. */
const CANDIDATES = 8;

/**
 * States that follow one from another by edits that the plan accepts.
 * @param seed reproduces them
 */
export class Transitions {
  readonly #edits: Iterator<Step, undefined>;
  #count = 0;

  constructor(seed: number) {
    this.#edits = fc.sample(edit, { seed, numRuns: 50_000 })[Symbol.iterator]();
  }

  /**
   * A state that `from` can be edited into.
   * @throws Error when the edits are used up
   */
  next(from: State): State {
    const wanted = this.#count++ % 4 === 0 ? 1 : CANDIDATES;
    const found: State[] = [];
    while (found.length < wanted) {
      const { value: step } = this.#edits.next();
      if (step === undefined) throw new Error("no more edits");
      const to = step(from);
      const changes = JSON.stringify(to) !== JSON.stringify(from);
      if (changes && isHandedToRunning(from, to) && isValid(to)) found.push(to);
    }
    return found.reduce((a, b) => (cardsUsed(b) > cardsUsed(a) ? b : a));
  }
}
