import type { Forecast, RouteForecast } from "../gpu/forecast.ts";
import type { RouteFate } from "./outages.ts";

/** A prediction holds within this share of itself or this many seconds, whichever is more. */
const TOLERANCE = { share: 0.1, seconds: 2 };

/** What one comparison yields. */
export interface Comparison {
  /** Measured less predicted, in seconds, of each outage and of each time until a route is on. */
  readonly deviations: readonly number[];
  /** Predictions that were missed, one line each. */
  readonly misses: readonly string[];
}

/** What the preview forecast, held against what was measured: restarts, and for how long each route is out. */
export function compared(
  forecast: Forecast,
  restarted: readonly string[],
  routes: readonly RouteFate[],
): Comparison {
  const [predicted, measured] = [forecast.restarts, restarted].map(
    (names) => `[${names.toSorted().join(", ")}]`,
  );
  const perRoute = forecast.routes.map((route) => {
    const fate = routes.find((each) => each.route === route.route);
    if (fate === undefined) return { miss: `${route.route}: not measured` };
    return comparedRoute(route, fate);
  });
  return {
    deviations: perRoute.flatMap(({ deviation }) => deviation ?? []),
    misses: [
      ...(predicted === measured ? [] : [`restarts: predicted ${predicted}, measured ${measured}`]),
      ...perRoute.flatMap(({ miss }) => miss ?? []),
    ],
  };
}

function comparedRoute(
  { route, effect, seconds }: RouteForecast,
  fate: RouteFate,
): { readonly deviation?: number; readonly miss?: string } {
  const seen = effectOf(fate);
  if (seen !== effect) return { miss: `${route}: predicted ${effect}, measured ${seen}` };
  if (effect === "off" || effect === "none") return {};
  const measured = effect === "on" ? (fate.serving[0]?.from ?? 0) : fate.outageSeconds;
  if (seconds === undefined) {
    return { miss: `${route}: predicted no end, measured ${measured.toFixed(1)} s` };
  }
  const deviation = measured - seconds;
  const allowed = Math.max(TOLERANCE.share * seconds, TOLERANCE.seconds);
  return Math.abs(deviation) <= allowed
    ? { deviation }
    : {
        deviation,
        miss: `${route} (${effect}): predicted ${seconds.toFixed(1)} s, measured ${measured.toFixed(1)} s`,
      };
}

function effectOf({ before, after }: RouteFate): RouteForecast["effect"] {
  if (before) return after ? "stays" : "off";
  return after ? "on" : "none";
}
