import { CLEF_SERVE } from "../components/names.ts";
import type { StackConfig, WorkloadConfig } from "../config/types.ts";
import { Cluster } from "./cluster.ts";
import { AdoptionError } from "./command.ts";
import type { Declared } from "./declared.ts";
import { isDeclared } from "./declared.ts";
import type { Difference } from "./difference.ts";
import { differences } from "./difference.ts";
import type { Imports } from "./imports.ts";
import type { KubernetesObject } from "./kubernetesObject.ts";
import { titleOf } from "./kubernetesObject.ts";
import { kept, takenManagers } from "./managers.ts";
import type { Autoscaler } from "./refusals.ts";
import { refusals } from "./refusals.ts";
import type { RenderedObject, StackArguments } from "./rendering.ts";
import { render } from "./rendering.ts";
import type { Restart } from "./restarts.ts";
import { restart } from "./restarts.ts";

/** What adoption does to one object. */
export interface ObjectPlan {
  readonly title: string;
  readonly rendered: RenderedObject;
  /** Absent where the object is to be created, and `after` with it. */
  readonly live?: KubernetesObject;
  /** The live object as it will be, the server's defaults included. */
  readonly after?: KubernetesObject;
  readonly differences: readonly Difference[];
  readonly undeclared: readonly Difference[];
  /** Field managers whose fields the program takes over. */
  readonly taken: readonly string[];
  readonly refusals: readonly string[];
  readonly restart?: Restart | undefined;
}

/** What one adoption does. */
export interface AdoptionPlan {
  readonly cluster: Cluster;
  readonly declared: Declared;
  readonly objects: readonly ObjectPlan[];
  /** What the live objects that the state does not have are imported by. */
  readonly imports: Imports;
}

/**
 * Plans an adoption and changes nothing: a preview, reads, and dry runs.
 * @throws {AdoptionError} when the program refuses the stack, or kubectl fails
 */
export async function planAdoption(
  stack: StackArguments,
  declared: Declared,
): Promise<AdoptionPlan> {
  const { context, config, objects, removed } = await render(stack);
  if (removed.length > 0) {
    throw new AdoptionError(
      `${removed.join(", ")}: this update would delete or replace it, and adoption never does; do that in an update ` +
        `of its own first`,
    );
  }
  const cluster = new Cluster(context);
  const live = await cluster.read(objects.map(({ object }) => object));
  const facts: Facts = {
    cluster,
    stack: stack.stack,
    declared,
    autoscalers: await cluster.autoscalers(),
    services: objects.map(({ object }) => object).filter(({ kind }) => kind === "Service"),
    times: timesOf(config),
  };
  const plans = await Promise.all(
    objects.map(async (rendered) => {
      const found = live.find((each) => titleOf(each) === titleOf(rendered.object));
      if (found !== undefined) return toAdopt(rendered, found, facts);
      return toCreate(rendered, facts, live.length > 0);
    }),
  );
  return {
    cluster,
    declared,
    objects: plans,
    imports: Object.fromEntries(
      plans
        .filter((plan) => plan.live !== undefined && !plan.rendered.managed)
        .map(({ rendered }) => [rendered.key, rendered.importId]),
    ),
  };
}

/** What the plan of every object rests on. */
interface Facts {
  readonly cluster: Cluster;
  readonly stack: string;
  readonly declared: Declared;
  readonly autoscalers: readonly Autoscaler[];
  readonly services: readonly KubernetesObject[];
  readonly times: ReturnType<typeof timesOf>;
}

/** The stack file's times by Deployment. */
function timesOf(config: StackConfig) {
  const { clefServe, candleVllm, candleVllmNext, reasoning } = config;
  return {
    [CLEF_SERVE]: clefServe,
    "candle-vllm": candleVllm,
    "candle-vllm-next": candleVllmNext,
    reasoning,
  } as Readonly<Record<string, WorkloadConfig>>;
}

function untouched(rendered: RenderedObject): ObjectPlan {
  const title = titleOf(rendered.object);
  return { title, rendered, differences: [], undeclared: [], taken: [], refusals: [] };
}

/** @param tried false where nothing exists, since a dry run needs the namespace */
async function toCreate(
  rendered: RenderedObject,
  { cluster }: Facts,
  tried: boolean,
): Promise<ObjectPlan> {
  const answer = tried ? await answerOf(cluster.created(rendered.object)) : undefined;
  const refused = answer instanceof AdoptionError ? [answer.message] : [];
  return { ...untouched(rendered), refusals: refused };
}

async function toAdopt(
  rendered: RenderedObject,
  live: KubernetesObject,
  { cluster, stack, declared, autoscalers, services, times }: Facts,
): Promise<ObjectPlan> {
  const { takeOver } = declared;
  const title = titleOf(live);
  const reasons = refusals({ live, stack, autoscalers, takeOver });
  const plan = { ...untouched(rendered), live, taken: takenManagers(live, takeOver) };
  const after = await afterwards(cluster, live, rendered.object, takeOver);
  if (after instanceof AdoptionError) return { ...plan, refusals: [...reasons, after.message] };
  const changes = differences(live, after);
  const coldStart = times[live.metadata.name]?.coldStartSeconds ?? 0;
  return {
    ...plan,
    after,
    differences: changes,
    undeclared: changes.filter(({ path }) => !isDeclared(declared, title, path)),
    refusals: reasons,
    restart: restart(live, after, services, coldStart),
  };
}

/**
 * The object as adoption leaves it. A dry-run replace is exact: the server fills in the same defaults as in the live
 * object, keeps the addresses of a Service, and checks what it would check then (a Deployment's selector, admission).
 * @returns what the server says against it, instead
 */
async function afterwards(
  cluster: Cluster,
  live: KubernetesObject,
  wanted: KubernetesObject,
  takeOver: readonly string[],
): Promise<KubernetesObject | AdoptionError> {
  const { labels, annotations } = wanted.metadata;
  const metadata = {
    ...wanted.metadata,
    labels: { ...kept(live, "labels", takeOver), ...labels },
    annotations: { ...kept(live, "annotations", takeOver), ...annotations },
    ...(live.metadata.finalizers === undefined ? {} : { finalizers: live.metadata.finalizers }),
    ...(live.metadata.ownerReferences === undefined
      ? {}
      : { ownerReferences: live.metadata.ownerReferences }),
  };
  return answerOf(cluster.replaced({ ...wanted, metadata }));
}

/** What the server answers to a dry run, or says against it. */
async function answerOf(
  dryRun: Promise<KubernetesObject>,
): Promise<KubernetesObject | AdoptionError> {
  try {
    return await dryRun;
  } catch (error) {
    if (error instanceof AdoptionError) return error;
    throw error;
  }
}

/** Whether the object is already as adoption would leave it. */
export function isSettled({ rendered, live, differences, taken }: ObjectPlan): boolean {
  return live !== undefined && rendered.managed && differences.length === 0 && taken.length === 0;
}

/** Whether nothing is there to be adopted, so that a plain `up` does the work. */
export function isFresh({ objects }: AdoptionPlan): boolean {
  return objects.every(({ live }) => live === undefined);
}

/** Whether the plan may be carried out. */
export function isAllowed({ objects }: AdoptionPlan): boolean {
  return objects.every(({ refusals, undeclared }) => refusals.length + undeclared.length === 0);
}
