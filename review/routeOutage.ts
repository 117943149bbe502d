import {
  CLEF_SERVE,
  CODER_PREDICTOR,
  REASONING_SERVICE,
  SYSTEMONE_ROUTE,
} from "../components/names.ts";
import type { RouteForecast } from "../gpu/forecast.ts";
import type { PreviewFacts } from "../previewFacts.ts";
import type { PodChange } from "./podChange.ts";
import type { ResourceChange } from "./resourceChange.ts";

/** One route that an update turns on or off, interrupts, or leaves up although its pods change. */
export interface RouteOutage extends RouteForecast {
  /** What happens to the workload behind it. */
  readonly reason: string;
}

/** The routes that an update touches, as the program forecast them; none where it did not. */
export function routeOutages(
  { forecast, coderBackend }: PreviewFacts,
  pods: readonly PodChange[],
  changes: readonly ResourceChange[],
): readonly RouteOutage[] {
  const backends: Readonly<Record<string, string>> = {
    [SYSTEMONE_ROUTE]: CLEF_SERVE,
    [CODER_PREDICTOR]: coderBackend,
    [REASONING_SERVICE]: "reasoning",
  };
  // What pods do that still start or end is not this update's doing.
  if (changes.length === 0) return [];
  return (forecast?.routes ?? []).flatMap((route) => {
    const backend = backends[route.route] ?? "";
    const former = route.route === CODER_PREDICTOR ? formerBackend(changes) : undefined;
    const reasons = [
      ...(former === undefined ? [] : [`handed from ${former} to ${backend}`]),
      ...pods.filter(({ workload }) => workload === backend).map(reasonOf),
    ];
    const quiet = route.effect === "none" || (route.effect === "stays" && route.seconds === 0);
    return quiet && reasons.length === 0 ? [] : [{ ...route, reason: reasons.join(", ") }];
  });
}

/** Whether a route that answers now does not for some time. */
export function isInterrupted({ effect, seconds }: RouteForecast): boolean {
  return effect === "off" || (effect === "stays" && seconds !== 0);
}

function reasonOf({ workload, effect }: PodChange): string {
  return effect === "ends" ? `${workload} is parked` : `${workload} ${effect}`;
}

function formerBackend(changes: readonly ResourceChange[]): string | undefined {
  const service = changes.find(({ kind, name }) => kind === "Service" && name === CODER_PREDICTOR);
  const field = service?.fields.find(({ path }) => path === "spec.selector[app]");
  return typeof field?.before === "string" ? field.before : undefined;
}
