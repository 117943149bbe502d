// One lab on which transitions follow one another.
import { startLab, stopLab } from "../../lab/lab.ts";
import { perform, type Performance } from "../../rehearse/perform.ts";
import type { SimulatedTimes } from "../../rehearse/realTime.ts";
import { rehearsalReport, type RehearsalReport } from "../../rehearse/report.ts";
import { Stage } from "../../rehearse/stage.ts";
import { workloadsOf } from "../../stackPlan.ts";
import { configOf, FIRST, NODES, type State, textOf } from "./state.ts";

/**
 * Seconds of real time for which one second of a lane's lab stands. With 20, the CLI on a busy machine took longer
 * between two updates than the shortest grace, so that pods got cards in another order than in reality.
 */
export const TIME_SCALE = 10;

const workloads = workloadsOf(configOf(FIRST));

const times: SimulatedTimes = {
  timeScale: TIME_SCALE,
  coldStartSeconds: (app) => workloads.find(({ name }) => name === app)?.coldStartSeconds ?? 0,
  terminationSeconds: (app) => workloads.find(({ name }) => name === app)?.graceSeconds ?? 0,
  nodeCards: new Map(NODES.map(({ name, cards }) => [name, cards])),
};

/** The longest that a pod takes to go and another to start, in milliseconds of the lab. */
const SIMULATED_MS =
  (Math.max(...workloads.map((each) => each.coldStartSeconds + each.graceSeconds)) * 2000) /
  TIME_SCALE;

/** What became of one transition. */
export interface Outcome {
  /** The preview refused it and nothing was changed. */
  readonly refused: boolean;
  /** The CLI failed otherwise, or a rollout did not come to its end: what it said. */
  readonly failure: string | undefined;
  readonly report: RehearsalReport;
}

/** A lab, and the state that its stack is in. */
export class Lane {
  readonly #name: string;
  readonly #signal: AbortSignal;
  #stage: Stage | undefined;
  #state = FIRST;

  /**
   * @param name of its lab
   * @param signal ends what is going on; the lane must still be closed
   */
  constructor(name: string, signal: AbortSignal) {
    this.#name = name;
    this.#signal = signal;
  }

  /** The state that the stack is in. */
  get state(): State {
    return this.#state;
  }

  /**
   * Makes a fresh lab and the first state on it.
   * @throws Error when that fails
   */
  async open(): Promise<void> {
    await this.close();
    const byApp = (of: (app: string) => number) =>
      Object.fromEntries(workloads.map(({ name }) => [name, of(name)]));
    const lab = await startLab({
      name: this.#name,
      nodes: NODES,
      coldStartSeconds: byApp(times.coldStartSeconds),
      terminationSeconds: byApp(times.terminationSeconds),
      timeScale: TIME_SCALE,
      signal: this.#signal,
    });
    const stage = await Stage.open(lab, { stack: "dev", signal: this.#signal });
    const first = () => stage.up(textOf(FIRST));
    const { up, settled } = await perform(stage.kubeConfig, first, SIMULATED_MS);
    if (up.code !== 0 || !settled) throw new Error(`no first state: ${up.output}`);
    this.#stage = stage;
    this.#state = FIRST;
  }

  /**
   * Brings the stack to another state: a preview, then the update.
   * @param parallel of `pulumi up`; undefined: its default
   */
  async go(to: State, parallel: number | undefined): Promise<Outcome> {
    const stage = this.#stage;
    if (stage === undefined) throw new Error("not open");
    const args = parallel === undefined ? [] : [`--parallel=${parallel}`];
    const begin = () => stage.up(textOf(to), { args, preview: true });
    const performed = await perform(stage.kubeConfig, begin, SIMULATED_MS);
    const outcome = outcomeOf(performed, to);
    if (!outcome.refused) this.#state = to;
    return outcome;
  }

  /** Ends the lab. */
  async close(): Promise<void> {
    await this.#stage?.close();
    this.#stage = undefined;
    await stopLab(this.#name);
  }
}

function outcomeOf({ recording, settled, up }: Performance, to: State): Outcome {
  const refused = up.code !== 0 && settled && recording.changes.every(({ at }) => at === 0);
  const surging = workloadsOf(configOf(to)).filter(({ rollout }) => rollout === "surge");
  const report = rehearsalReport({
    ...{ stack: "dev", base: "", commit: "", edits: [], times, recording, settled },
    workloads: workloads.map(({ name }) => name),
    surging: new Set(surging.map(({ name }) => name)),
    ...{ limitSeconds: undefined, refusal: undefined, forecast: up.facts?.forecast },
  });
  const failed = !refused && (up.code !== 0 || !settled);
  return { refused, failure: failed ? up.output : undefined, report };
}
