import {
  CLEF_SERVE,
  CODER_PREDICTOR,
  REASONING_SERVICE,
  SYSTEMONE_ROUTE,
} from "../components/names.ts";
import type { PreviewFacts, WorkloadFacts } from "../previewFacts.ts";
import type { PodChange } from "./podChange.ts";
import type { ResourceChange } from "./resourceChange.ts";

/** One route that an update turns on or off, or interrupts. */
export interface RouteOutage {
  /** "/v1/systemone", or the Service that its clients address. */
  readonly route: string;
  /** on: it answers afterwards and did not before. off: the reverse. interrupted: it answers before and after. */
  readonly effect: "on" | "off" | "interrupted";
  /**
   * Seconds in which no endpoint serves, as expected; for `on` until the first answer, for `off` absent: it lasts
   * until another update.
   */
  readonly outageSeconds?: number | undefined;
  /** Why, and what the number does not contain. */
  readonly reason: string;
}

/** What one route's workload goes through. */
interface Backend {
  readonly workload: WorkloadFacts;
  readonly pods: PodChange | undefined;
}

/**
 * The routes that an update touches, each by the workload behind it alone: a restart under Recreate takes the cold
 * start. That cards are handed from one workload to another, and the waiting that comes with it, is not in here.
 */
export function routeOutages(
  facts: PreviewFacts,
  pods: readonly PodChange[],
  changes: readonly ResourceChange[],
): readonly RouteOutage[] {
  const backendOf = (name: string): Backend | undefined => {
    const workload = facts.workloads.find((each) => each.name === name);
    return workload && { workload, pods: pods.find((each) => each.workload === name) };
  };
  const former = formerCoderBackend(changes) ?? facts.coderBackend;
  return [
    ...routeOutage(SYSTEMONE_ROUTE, backendOf(CLEF_SERVE)),
    ...(former === facts.coderBackend
      ? routeOutage(CODER_PREDICTOR, backendOf(facts.coderBackend))
      : handoff(former, backendOf(facts.coderBackend))),
    ...routeOutage(REASONING_SERVICE, backendOf("reasoning")),
  ];
}

/** "goes on after 240 s", "goes off", "is down for 240 s", "stays up". */
export function outageText({ effect, outageSeconds = 0 }: RouteOutage): string {
  if (effect === "off") return "goes off";
  if (effect === "on") return `goes on after about ${outageSeconds} s`;
  return outageSeconds === 0 ? "stays up" : `is down for about ${outageSeconds} s`;
}

function routeOutage(route: string, backend: Backend | undefined): readonly RouteOutage[] {
  if (backend?.pods === undefined) return [];
  const { workload, pods } = backend;
  const { name, coldStartSeconds, graceSeconds, rollout } = workload;
  switch (pods.effect) {
    case "starts":
      return [{ route, effect: "on", outageSeconds: coldStartSeconds, reason: `${name} starts` }];
    case "ends":
      return [{ route, effect: "off", reason: `${name} is parked` }];
    case "scales":
      return [];
    case "restarts": {
      const how = pods.because.length === 0 ? "is replaced" : "restarts";
      if (rollout === "surge") {
        const reason = `${name} ${how}, each new pod before an old one goes`;
        return [{ route, effect: "interrupted", outageSeconds: 0, reason }];
      }
      const reason =
        `${name} ${how}: its cold start, and up to its grace of ${graceSeconds} s more if the old pod stops serving ` +
        "at once";
      return [{ route, effect: "interrupted", outageSeconds: coldStartSeconds, reason }];
    }
  }
}

/** coder-predictor turns to another engine, which serves already or has to start first. */
function handoff(former: string, backend: Backend | undefined): readonly RouteOutage[] {
  if (backend === undefined) return [];
  const { workload, pods } = backend;
  const { name, coldStartSeconds, replicas } = workload;
  const route = CODER_PREDICTOR;
  const from = `handed from ${former} to ${name}`;
  if (replicas === 0) return [{ route, effect: "off", reason: `${from}, which is parked` }];
  const serves = pods === undefined || pods.effect === "scales";
  return [
    {
      route,
      effect: "interrupted",
      outageSeconds: serves ? 0 : coldStartSeconds,
      reason: serves
        ? `${from}, which runs already`
        : `${from}, which has to start: hand it over in an update of its own, once the new one is Ready`,
    },
  ];
}

function formerCoderBackend(changes: readonly ResourceChange[]): string | undefined {
  const service = changes.find(({ kind, name }) => kind === "Service" && name === CODER_PREDICTOR);
  const field = service?.fields.find(({ path }) => path === "spec.selector[app]");
  return typeof field?.before === "string" ? field.before : undefined;
}
