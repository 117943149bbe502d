import type { NodeCards } from "./cardMap.ts";
import type { NodeAllocation } from "./plan.ts";

/** One workload in the order in which a run registers them. */
export interface Registration {
  readonly name: string;
  /** Workloads whose update the engine must have sent before: donors of cards that this one takes. */
  readonly after: readonly string[];
}

/**
 * The order of a run's updates: who gives cards up on a node comes before who takes cards there. A donor whose update
 * the API server refuses then leaves its receivers untouched; with the receiver first, Recreate would have stopped its
 * pods already. Nothing waits between two updates, so that the order costs no time and cannot deadlock.
 *
 * On one node a workload either gives or takes; workloads that exchange nodes each do both, and of such a circle one
 * half of the order is left out.
 *
 * @param held cards by pods as they are now, Terminating ones included
 * @param planned the allocation that the run is to reach
 * @param names all workloads, in the order that holds where the cards ask for none
 */
export function registrationOrder(
  held: readonly NodeCards[],
  planned: Readonly<Record<string, NodeAllocation>>,
  names: readonly string[],
): readonly Registration[] {
  const after = new Map<string, readonly string[]>(names.map((name) => [name, []]));
  for (const [node, { used }] of Object.entries(planned)) {
    const holders = held.find(({ name }) => name === node)?.holders ?? [];
    const change = (name: string): number =>
      (used[name] ?? 0) -
      holders.reduce((sum, { label, cards }) => sum + (label === name ? cards : 0), 0);
    const donors = names.filter((name) => change(name) < 0);
    for (const receiver of names.filter((name) => change(name) > 0)) {
      for (const donor of donors) {
        if (!comesAfter(donor, receiver, after)) {
          after.set(receiver, [...new Set([...(after.get(receiver) ?? []), donor])]);
        }
      }
    }
  }
  const ordered: Registration[] = [];
  const add = (name: string): void => {
    if (ordered.some((each) => each.name === name)) return;
    const donors = after.get(name) ?? [];
    donors.forEach(add);
    ordered.push({ name, after: donors });
  };
  names.forEach(add);
  return ordered;
}

/** Whether `name` comes after `other`, by itself or through others. */
function comesAfter(
  name: string,
  other: string,
  after: ReadonlyMap<string, readonly string[]>,
): boolean {
  return (after.get(name) ?? []).some(
    (before) => before === other || comesAfter(before, other, after),
  );
}
