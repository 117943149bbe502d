import { cardCount } from "../cluster/facts.ts";
import { strangerWarnings } from "../cluster/objects.ts";
import { NAMESPACE } from "../components/names.ts";
import { prose } from "./markdownText.ts";
import { describePolicy, isMandatory } from "./policyText.ts";
import type { Review } from "./reviewOf.ts";
import type { Section } from "./sections.ts";

/** What holds, and what advises; a mandatory policy that is violated stands at the top, among what blocks. */
export function policiesSection({ policies, policyPacks, complete }: Review): Section | undefined {
  const packs = Object.entries(policyPacks).map(([name, version]) => `${name} ${version}`);
  const hold = complete && packs.length > 0 && policies.length === 0;
  const held = hold ? [`All hold (${packs.join(", ")}).`] : [];
  const advice = policies.filter((policy) => !isMandatory(policy)).map(describePolicy);
  const lines = [...held, ...listOf(advice)];
  return lines.length === 0 ? undefined : { head: ["### Policies", ""], lines };
}

/** What works and deserves a look. */
export function warningsSection({ warnings, facts }: Review): Section | undefined {
  const lines = warningLines(warnings, facts);
  return lines.length === 0 ? undefined : { head: ["### To look at", ""], lines };
}

/** The same where it is no news, folded away. */
export function standingWarningsSection({ standingWarnings, facts }: Review): Section | undefined {
  const lines = warningLines(standingWarnings, facts);
  if (lines.length === 0) return undefined;
  const title = `<details><summary>To look at, as before (${lines.length})</summary>`;
  return { head: [title, ""], lines, tail: ["", "</details>"] };
}

/** A section of its own tells of the objects that are not the stack's. */
function warningLines(warnings: readonly string[], facts: Review["facts"]): readonly string[] {
  const strangers = new Set(strangerWarnings(facts?.strangers ?? []));
  return listOf(warnings.filter((line) => !strangers.has(line)));
}

/** Who holds cards of the stack's nodes, and what lies in its namespace, without being its own. */
export function strangersSection({ facts }: Review): Section | undefined {
  const holders = (facts?.before ?? []).flatMap((node) =>
    node.holders
      .filter(({ unmanaged }) => unmanaged === true)
      .map(({ label, cards }) => `${label} holds ${cardCount(cards)} of ${node.name}`),
  );
  const objects = (facts?.strangers ?? []).map((name) => `${name} in namespace ${NAMESPACE}`);
  const lines = listOf([...holders, ...objects]);
  return lines.length === 0 ? undefined : { head: ["### Not this stack's", ""], lines };
}

function listOf(items: readonly string[]): readonly string[] {
  return items.map((item) => `- ${prose(item.replaceAll("\n", " "))}`);
}
