import type { GpuNode } from "./workload.ts";

/** Pods that hold cards and that this program does not own. */
export interface UnmanagedHolder {
  /** `namespace/pod`. */
  readonly owner: string;
  readonly node: string;
  readonly cards: number;
}

/** What the live cluster says of its cards. */
export interface LiveGpus {
  /** Allocatable cards by node name; a node that is not in it does not exist in the cluster. */
  readonly allocatable: ReadonlyMap<string, number>;
  readonly unmanaged: readonly UnmanagedHolder[];
}

/** The cards of one node that this program may use. */
export interface NodePool {
  readonly node: GpuNode;
  /** Position in `gpuNodes`, for messages. */
  readonly index: number;
  /** Live allocatable cards, 0 for a node that the cluster does not have; undefined offline. */
  readonly allocatable: number | undefined;
  /** True when there is a cluster and the node is not in it. */
  readonly absent: boolean;
  readonly unmanaged: readonly UnmanagedHolder[];
  /** Cards left to this program: min(configured, allocatable) minus what others hold, never < 0. */
  readonly available: number;
}

/**
 * The pool of each node, by node name and in the order of `nodes`.
 *
 * The smaller of the configured and the allocatable number counts: a dead card lowers the
 * allocatable number, and time-slicing raises it without adding a card.
 *
 * @throws RangeError when a number is not finite
 */
export function nodePools(
  nodes: readonly GpuNode[],
  live?: LiveGpus,
): ReadonlyMap<string, NodePool> {
  const holders = Map.groupBy(live?.unmanaged ?? [], (holder) => holder.node);
  return new Map(
    nodes.map((node, index) => {
      const unmanaged = holders.get(node.name) ?? [];
      const allocatable = live === undefined ? undefined : (live.allocatable.get(node.name) ?? 0);
      const held = unmanaged.reduce((sum, holder) => sum + holder.cards, 0);
      const available = Math.min(node.cards, allocatable ?? node.cards) - held;
      if (!Number.isFinite(available + node.memoryGiB)) {
        throw new RangeError(`${node.name}: cards and memory must be finite numbers`);
      }
      return [
        node.name,
        {
          node,
          index,
          allocatable,
          absent: live !== undefined && !live.allocatable.has(node.name),
          unmanaged,
          available: Math.max(0, available),
        },
      ];
    }),
  );
}

/** All numbers behind a pool: "4 configured, 3 allocatable, 1 held by unmanaged default/notebook". */
export function describePool(pool: NodePool): string {
  const parts = [`${pool.node.cards} configured`];
  if (pool.absent) parts.push("0 allocatable as the cluster has no such node");
  else if (pool.allocatable !== undefined) parts.push(`${pool.allocatable} allocatable`);
  parts.push(...pool.unmanaged.map(({ owner, cards }) => `${cards} held by unmanaged ${owner}`));
  return parts.join(", ");
}
