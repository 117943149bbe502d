import type { LiveGpus } from "./pool.ts";
import type { GpuNode, Workload } from "./workload.ts";

/** One pod on a node. */
export interface CardHolder {
  /** Name of the workload; `namespace/pod` when unmanaged. */
  readonly label: string;
  /** Cards of the pod. */
  readonly cards: number;
  readonly unmanaged?: boolean | undefined;
}

/** The cards of one node and the pods that hold them. */
export interface NodeCards {
  readonly name: string;
  readonly cards: number;
  readonly holders: readonly CardHolder[];
}

/** How a card map is drawn. */
export interface CardMapOptions {
  /** The live state; with it each node that changes has two lines. */
  readonly before?: readonly NodeCards[] | undefined;
  /** ANSI colours, default false. */
  readonly colour?: boolean | undefined;
  /** Columns of the terminal, 60 or more, default 96. */
  readonly width?: number | undefined;
}

/** The planned state of the nodes, one holder per pod, with what others hold. */
export function plannedCards(
  workloads: readonly Workload[],
  nodes: readonly GpuNode[],
  live?: LiveGpus,
): readonly NodeCards[] {
  const byNode = Map.groupBy(workloads, (workload) => workload.node);
  const unmanaged = Map.groupBy(live?.unmanaged ?? [], (holder) => holder.node);
  return nodes.map(({ name, cards }) => ({
    name,
    cards,
    holders: [
      ...(byNode.get(name) ?? []).flatMap((workload) =>
        Array.from({ length: workload.replicas }, () => ({
          label: workload.name,
          cards: workload.tensorParallel,
        })),
      ),
      ...(unmanaged.get(name) ?? []).map(({ owner, cards: held }) => ({
        label: owner,
        cards: held,
        unmanaged: true,
      })),
    ],
  }));
}

export function cardMap(after: readonly NodeCards[], options: CardMapOptions = {}): string {
  return `${after.length} ${String(options.colour)}`;
}
