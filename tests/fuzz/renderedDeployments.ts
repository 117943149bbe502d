import { CandleVllm } from "../../components/candleVllm.ts";
import { ClefServe } from "../../components/clefServe.ts";
import { Reasoning } from "../../components/reasoning.ts";
import type { StackConfig } from "../../config.ts";
import { registered } from "../support/mocks.ts";

/** A Deployment's fields that a reader of it needs. */
export interface Manifest {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly replicas: number;
    readonly strategy: { readonly type: string };
    readonly template: { readonly metadata: object };
  };
}

/**
 * The Deployments that the program's own components make of a stack. index.ts would refuse a stack that
 * asks for too many cards, so it is left out.
 */
export async function renderedDeployments(config: StackConfig): Promise<Manifest[]> {
  const stack = "fuzz";
  const resources = await registered(stack, () => {
    new ClefServe("clef-serve", { stack, ...config.clefServe, bootFiles: {} });
    new CandleVllm("candle-vllm", { stack, ...config.candleVllm });
    new CandleVllm("candle-vllm-next", { stack, ...config.candleVllmNext });
    new Reasoning("reasoning", { stack, ...config.reasoning });
  });
  return resources
    .filter(({ urn }) => urn.includes("kubernetes:apps/v1:Deployment::"))
    .map(({ inputs }) => inputs as unknown as Manifest);
}
