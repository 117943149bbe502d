import type { CardWait, RehearsalReport } from "../rehearse/report.ts";
import type { RouteFate } from "../rehearse/outages.ts";
import { duration } from "./duration.ts";
import { code, prose, valueText } from "./markdownText.ts";

/**
 * A rehearsal as Markdown.
 * @param picture path of the timeline, relative to the Markdown file
 */
export function rehearsalMarkdown(report: RehearsalReport, picture: string): string {
  const { stack, base, commit, edits, routes, cardWaits, failures, timeScale } = report;
  const missed = report.missed.flatMap((line) => [`Not as forecast: ${prose(line)}.`, ""]);
  return [
    `# Rehearsal of ${stack}: ${base} (${commit}) to the working copy`,
    "",
    failures.length === 0
      ? "**Passed.** No pod is stuck, every rollout came to its end."
      : ["**Failed.**", "", ...failures.map((line) => `- ${prose(line)}`)].join("\n"),
    "",
    `![What every pod and route did](${picture})`,
    "",
    "| edit | before | after |",
    "|---|---|---|",
    ...edits.map(
      ({ path, before, after }) => `| ${code(path)} | ${valueText(before)} | ${valueText(after)} |`,
    ),
    "",
    "| route | forecast by the preview | measured outage | of it waiting for a card |",
    "|---|---|---|---|",
    ...routes.map(
      (fate) =>
        `| ${fate.route} | ${forecastText(report, fate.route)} | ${outageText(fate)} | ${waitText(fate)} |`,
    ),
    "",
    ...missed,
    `Pods restart: ${report.restarted.length === 0 ? "none" : report.restarted.join(", ")}.`,
    `Pods that were Pending for a card: ${cardWaits.length === 0 ? "none" : cardWaits.map(waited).join("; ")}.`,
    `Service coder-predictor: ${identityText(report)}.`,
    `Everything settled ${duration(report.endSeconds)} after the edit.`,
    "",
    `Real: API server, controllers, scheduler, Pulumi CLI and provider. Simulated: the pods. They start in their ` +
      `configured cold start and use up their whole grace when they are deleted, serving until they are gone; ` +
      `1 s of the lab stood for ${timeScale} s, and everything that is real counts as measured.`,
    "",
  ].join("\n");
}

/** What the preview said of a route, in the words of {@link outageText}. */
function forecastText({ forecast }: RehearsalReport, route: string): string {
  const found = forecast?.routes.find((each) => each.route === route);
  if (found === undefined) return "-";
  const { effect, seconds } = found;
  if (effect === "off") return "off";
  if (effect === "none") return "off before and after";
  const long = seconds === undefined ? "no end in sight" : duration(seconds);
  return effect === "on" ? `on after ${long}` : seconds === 0 ? "none" : long;
}

/** What a route's clients notice, in a few words. */
export function outageText({ before, after, outageSeconds, serving, gaps }: RouteFate): string {
  const out = gaps.length === 0 ? "" : duration(outageSeconds);
  if (before && after) return out === "" ? "none" : out;
  const others = out === "" ? "" : `, out for ${out} meanwhile`;
  if (before) return `off after ${duration(serving.at(-1)?.to ?? 0)}${others}`;
  if (after) return `on after ${duration(serving[0]?.from ?? 0)}${others}`;
  return serving.length === 0 ? "off before and after" : `on for a while only${others}`;
}

function waitText({ gaps, waitingSeconds }: RouteFate): string {
  return gaps.length === 0 ? "-" : duration(waitingSeconds);
}

function waited({ pod, seconds, end, stuck }: CardWait): string {
  const notes = {
    "got one": "",
    withdrawn: " until it was withdrawn",
    "still waits": " and still",
  };
  return `${pod}, ${duration(seconds)}${notes[end]}${stuck ? " (stuck)" : ""}`;
}

function identityText({ coderPredictor: { before, after, kept } }: RehearsalReport): string {
  if (kept) return "ClusterIP and uid unchanged";
  return `ClusterIP ${before?.clusterIP ?? "none"} became ${after?.clusterIP ?? "none"}`;
}
