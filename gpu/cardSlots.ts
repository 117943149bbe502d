import type { CardHolder, NodeCards } from "./cardMap.ts";

/**
 * Who sits on each card of a node, undefined for idle. Longer than `cards` when the node is asked for
 * more than it has.
 */
export type CardSlots = readonly (CardHolder | undefined)[];

/**
 * Seats the pods of a node on its cards. Which physical card a pod gets is the device plugin's
 * choice; the seats only have to be stable, so that a reader sees what moves: a pod that was there
 * before keeps its seat, a new one takes the first run of idle cards that is long enough.
 *
 * @param before the seats of the same node before
 */
export function seatPods(node: NodeCards, before: CardSlots = []): CardSlots {
  const slots = Array.from<CardHolder | undefined>({ length: node.cards });
  const earlier = seatsByPod(before.slice(0, node.cards));
  // Copies, so that two pods stay two even when the caller states them with one object.
  const pods = node.holders.map((holder) => ({ ...holder }));
  const newcomers = pods.filter((pod) => {
    const kept = earlier.get(identity(pod))?.pop();
    for (const slot of kept ?? []) slots[slot] = pod;
    return kept === undefined;
  });
  for (const pod of newcomers) {
    for (const slot of idleSlots(slots, pod.cards)) slots[slot] = pod;
  }
  return slots;
}

/** Seats of the pods of a state; those of equal pods under one key, the first one last. */
function seatsByPod(slots: CardSlots): Map<string, number[][]> {
  const seats = Map.groupBy(slots.keys(), (slot) => slots[slot]);
  const byPod = new Map<string, number[][]>();
  for (const [pod, taken] of [...seats].reverse()) {
    // A pod that is cut off at the end of the node has no seats to keep.
    if (pod === undefined || taken.length < pod.cards) continue;
    const equal = byPod.get(identity(pod));
    if (equal === undefined) byPod.set(identity(pod), [taken]);
    else equal.push(taken);
  }
  return byPod;
}

function identity({ label, cards }: CardHolder): string {
  return `${cards} ${label}`;
}

/** The first run of `count` idle slots; without one scattered slots, then slots past the end. */
function idleSlots(slots: CardSlots, count: number): readonly number[] {
  const idle: number[] = [];
  let run = 0;
  for (const [slot, pod] of slots.entries()) {
    run = pod === undefined ? run + 1 : 0;
    if (pod === undefined) idle.push(slot);
    if (run === count) return idle.slice(-count);
  }
  const past = Array.from(
    { length: Math.max(0, count - idle.length) },
    (_, extra) => slots.length + extra,
  );
  return [...idle.slice(0, count), ...past];
}
