import type { ClusterState } from "./cluster.ts";
import {
  CLEF_SERVE,
  CODER_PREDICTOR,
  REASONING_SERVICE,
  SYSTEMONE_ROUTE,
} from "./components/names.ts";
import type { StackConfig } from "./config.ts";
import { type Forecast, forecast } from "./gpu/forecast.ts";
import { handoffProblems } from "./gpu/handoff.ts";
import { surgeProblems } from "./gpu/surge.ts";
import { type StackPlan, workloadsOf } from "./stackPlan.ts";

/** What a stack's change does to running pods and routes, and why it must not be made now. */
export interface StackForecast {
  readonly forecast: Forecast;
  /** One line each, in the form of the plan's problems. */
  readonly problems: readonly string[];
}

/**
 * Forecasts what an update does, from the live pods and the configuration.
 * @param templates fingerprint of each workload's pod template as the program renders it, by workload
 */
export function forecastStack(
  config: StackConfig,
  { pools }: StackPlan,
  cluster: ClusterState,
  templates: ReadonlyMap<string, string>,
): StackForecast {
  const workloads = workloadsOf(config);
  const { backend, acceptUnready } = config.coderService;
  const selected = cluster.coderBackend;
  const unchanged = (route: string, name: string) => ({ route, before: name, after: name });
  const available = new Map([...pools].map(([name, pool]) => [name, pool.available]));
  const deployments = workloads.map((workload) => ({
    ...workload,
    cards: workload.tensorParallel,
    templateChanges: cluster.templates.get(workload.name) !== templates.get(workload.name),
  }));
  const found = forecast({
    pods: cluster.pods,
    deployments,
    available,
    routes: [
      unchanged(SYSTEMONE_ROUTE, CLEF_SERVE),
      { route: CODER_PREDICTOR, before: selected ?? backend, after: backend },
      unchanged(REASONING_SERVICE, "reasoning"),
    ],
  });
  const route = found.routes.find((each) => each.route === CODER_PREDICTOR);
  const handoff =
    route &&
    handoffProblems({
      ...{ backend, selected, acceptUnready, route },
      pods: cluster.pods,
      workloads: new Map(workloads.map((workload) => [workload.name, workload])),
    });
  return {
    forecast: found,
    problems: [...surgeProblems(deployments, cluster.pods, available), ...(handoff ?? [])],
  };
}
