import { cardMap } from "../gpu/cardMap.ts";
import { routeText } from "../gpu/routeText.ts";
import { code, fenced, listed, prose } from "./markdownText.ts";
import type { PodChange } from "./podChange.ts";
import type { Review } from "./reviewOf.ts";
import type { Section } from "./sections.ts";

/** Addresses of the pictures, for those who can fetch them. */
export interface Pictures {
  readonly light: string;
  readonly dark: string;
}

/** The cards before and after, as text, and as a picture where there is one to fetch. */
export function cardsSection({ facts }: Review, pictures?: Pictures): Section | undefined {
  if (facts === undefined) return undefined;
  const map = cardMap(facts.after, { before: facts.before });
  return {
    head: [
      "### Cards",
      "",
      ...(pictures === undefined
        ? []
        : [
            `<picture><source media="(prefers-color-scheme: dark)" srcset="${pictures.dark}">` +
              `<img alt="Cards before and after" src="${pictures.light}"></picture>`,
            "",
          ]),
    ],
    lines: [fenced(map)],
  };
}

/** What becomes of each route that the update touches. */
export function routesSection({ outages, facts, changes }: Review): Section | undefined {
  const head = ["### Routes", ""];
  if (outages.length > 0) {
    return {
      head: [...head, "| route | what happens | why |", "|---|---|---|"],
      lines: outages.map(
        (outage) => `| ${code(outage.route)} | ${routeText(outage)} | ${prose(outage.reason)} |`,
      ),
    };
  }
  const adoption = changes.some(({ operation }) => operation === "adopt");
  if (facts === undefined || facts.forecast !== undefined || !adoption) return undefined;
  return { head, lines: ["Not forecast: `make adopt-plan` says what adoption restarts."] };
}

/** Pods that restart, apart from those that only become more or fewer. */
export function podsSection({ pods }: Review): Section | undefined {
  if (pods.length === 0) return undefined;
  const restarts = pods.filter(({ effect }) => effect === "restarts");
  const others = pods.filter(({ effect }) => effect !== "restarts");
  return {
    head: ["### Pods", ""],
    lines: [
      ...restarts.map((pod) => `- **${pod.workload} restarts**${countText(pod)}: ${reasonOf(pod)}`),
      ...others.map((pod) => `- ${pod.workload} ${pod.effect}${countText(pod)}; no pod restarts`),
    ],
  };
}

function countText({ before, after }: PodChange): string {
  const pods = (count: number): string => `${count} pod${count === 1 ? "" : "s"}`;
  return before === after ? ` (${pods(after)})` : ` (${pods(before)} to ${after})`;
}

function reasonOf({ because }: PodChange): string {
  return because.length === 0
    ? "the Deployment is replaced"
    : `its template changes in ${listed(because)}`;
}
