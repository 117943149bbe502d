import type {
  PolicyResource,
  ResourceValidationArgs,
  ResourceValidationPolicy,
  StackValidationPolicy,
} from "@pulumi/policy";
import * as proxy from "@pulumi/policy/proxy.js";
import type { Registered } from "../support/mocks.ts";

/** What the SDK does not declare. */
const { unknownCheckingProxy, unknownStringValue } = proxy as unknown as {
  unknownCheckingProxy: (props: object) => Record<string, unknown>;
  unknownStringValue: string;
};

/** A text that only the update will know, as the engine sends it. */
export const UNKNOWN = unknownStringValue;

/** A resource, as much of it as the policies look at. */
export type Judged = Pick<Registered, "urn" | "inputs"> & {
  readonly options?: { readonly protect?: true };
};

/** A Kubernetes object of stack prod that a component made. */
export function object(type: string, name: string, inputs: Judged["inputs"]): Judged {
  const metadata = { name, namespace: "llm-serving" };
  return {
    urn: `urn:pulumi:prod::llm-serving::llm-serving:index:X$kubernetes:${type}::${name}`,
    inputs: { ...inputs, metadata: { ...metadata, ...(inputs.metadata as object | undefined) } },
  };
}

/** What a policy has against resources, as "<name>: <message>", with values unknown as the SDK makes them. */
export async function violations(
  policy: ResourceValidationPolicy | StackValidationPolicy,
  resources: readonly Judged[],
): Promise<string[]> {
  const found: string[] = [];
  const args = resources.map(argsOf);
  if ("validateStack" in policy) {
    const stack = { resources: args as unknown as PolicyResource[] };
    await policy.validateStack(stack as Parameters<typeof policy.validateStack>[0], (message) => {
      found.push(message);
    });
    return found;
  }
  for (const validate of [policy.validateResource ?? []].flat()) {
    for (const resource of args) {
      await validate(resource, (message) => found.push(`${resource.name}: ${message}`));
    }
  }
  return found;
}

function argsOf({ urn, inputs, options = {} }: Judged): ResourceValidationArgs {
  const [, , types = "", name = ""] = urn.split("::");
  return {
    urn,
    name,
    type: types.split("$").at(-1) ?? "",
    props: unknownCheckingProxy(inputs),
    opts: { protect: options.protect === true },
  } as unknown as ResourceValidationArgs;
}
