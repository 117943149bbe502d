import type { input } from "@pulumi/kubernetes/types/index.js";
import type { Registered } from "./mocks.ts";

/** A manifest's fields without Pulumi's inputs: what the API server would get. */
type Plain<T> = T extends Promise<unknown> | { apply: unknown }
  ? never
  : T extends readonly (infer E)[]
    ? Plain<E>[]
    : T extends object
      ? { [K in keyof T]: Plain<T[K]> }
      : T;

export type PodSpec = Plain<input.core.v1.PodSpec>;
export type Container = Plain<input.core.v1.Container>;

/** The single item of a list. @throws Error when there is none or more than one */
export function only<T>(items: readonly T[], what: string): T {
  const [item] = items;
  if (item === undefined || items.length > 1) throw new Error(`${items.length} of: ${what}`);
  return item;
}

/** The one registered resource whose URN ends in `$<type>::<name>`, as its inputs. */
export function objectOf(resources: readonly Registered[], type: string, name: string): Registered {
  const found = resources.filter(({ urn }) => urn.endsWith(`${type}::${name}`));
  return only(found, `${type} ${name}`);
}

/** A Deployment's spec. */
export function deploymentSpec(resources: readonly Registered[], name: string) {
  const { inputs } = objectOf(resources, "kubernetes:apps/v1:Deployment", name);
  return inputs.spec as {
    readonly replicas: number;
    readonly progressDeadlineSeconds: number;
    readonly strategy: unknown;
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly template: {
      readonly metadata: {
        readonly labels: Readonly<Record<string, string>>;
        readonly annotations?: unknown;
      };
      readonly spec: PodSpec;
    };
  };
}

/** The pod template's spec of a Deployment. */
export function podSpecOf(resources: readonly Registered[], name: string): PodSpec {
  return deploymentSpec(resources, name).template.spec;
}

/** The only container of a Deployment. */
export function serverOf(resources: readonly Registered[], name: string): Container {
  const { containers } = podSpecOf(resources, name);
  return only(containers, `container of ${name}`);
}

/** A Service's spec. */
export function serviceSpec(resources: readonly Registered[], name: string) {
  const { inputs } = objectOf(resources, "kubernetes:core/v1:Service", name);
  return inputs.spec as {
    readonly type: string;
    readonly clusterIP?: string;
    readonly selector: Readonly<Record<string, string>>;
    readonly ports: readonly Readonly<Record<string, unknown>>[];
  };
}

/** A container's environment as a map; a reference to a Secret stays an object. */
export function envOf(container: Container): Record<string, unknown> {
  const env = container.env ?? [];
  return Object.fromEntries(
    env.map((variable) => [variable.name, variable.value ?? variable.valueFrom]),
  );
}
