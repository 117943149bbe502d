import type { RouteForecast } from "./forecast.ts";

/** What becomes of a route, to follow its name: "is down for about 300 s, 60 s of them waiting for a card". */
export function routeText({
  effect,
  seconds,
  waitsForCardSeconds,
}: Omit<RouteForecast, "route">): string {
  const about = seconds === undefined ? "a time unknown" : `about ${Math.ceil(seconds)} s`;
  const waits = Math.ceil(waitsForCardSeconds);
  const card = waits === 0 ? "" : `, ${waits} s of them waiting for a card`;
  switch (effect) {
    case "stays":
      return seconds === 0 ? "stays up" : `is down for ${about}${card}`;
    case "on":
      return seconds === 0 ? "is on" : `is on after ${about}${card}`;
    case "off":
      return "goes off";
    case "none":
      return "stays off";
  }
}
