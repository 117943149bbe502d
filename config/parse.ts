import { BOOTSTRAP_TIMES } from "../gpu/bootstrap.ts";
import { checkRules, checkVariableNames } from "./rules.ts";
import { ConfigError } from "./problems.ts";
import { Review } from "./review.ts";
import { stackSchema } from "./schema.ts";
import type { EngineConfig, GpuNode, ModelSource, ParsedStack, StackConfig } from "./types.ts";

/** What a stack's configuration holds beside plain values of this program's namespace. */
export interface Surroundings {
  /** Keys of this program that are encrypted or hold something encrypted. */
  readonly encrypted?: readonly string[];
  /** Full keys of other namespaces, such as `kubernetes:candleVllm`. */
  readonly foreign?: readonly string[];
  /** Values in plain text under other namespaces, by full key. */
  readonly foreignPlain?: Readonly<Record<string, string>>;
}

/**
 * Checks a stack's configuration and fills in the defaults. Knows nothing of Pulumi.
 *
 * @param raw decoded values by the part of their key after `llm-serving:`
 * @param stack name of the stack, for the commands in messages
 * @param around what else the stack's file holds
 * @throws ConfigError with every problem that the configuration has
 */
export function parseStackConfig(
  raw: Readonly<Record<string, unknown>>,
  stack: string,
  around: Surroundings = {},
): StackConfig {
  const review = new Review(raw, stack);
  review.checkSecrets(around.encrypted ?? []);
  review.checkForeignSecrets(around.foreignPlain ?? {});
  checkVariableNames(review);
  const parsed = stackSchema.safeParse(raw);
  review.checkShape(parsed.error?.issues ?? [], around.foreign ?? []);
  checkRules(review);
  if (!parsed.success || review.problems.length > 0) throw new ConfigError(review.problems, stack);
  return complete(parsed.data);
}

/** Fills in what depends on other keys: nodes, clef-serve's cold start, the push registry, the kind of source. */
function complete(parsed: ParsedStack): StackConfig {
  const { gpuNodes, registry } = parsed;
  return {
    ...parsed,
    clefServe: {
      ...parsed.clefServe,
      coldStartSeconds:
        parsed.clefServe.coldStartSeconds ??
        BOOTSTRAP_TIMES[parsed.clefServe.bootstrap].coldStartSeconds,
      node: nodeOf(parsed.clefServe, gpuNodes),
    },
    candleVllm: engine(parsed.candleVllm, gpuNodes),
    candleVllmNext: engine(parsed.candleVllmNext, gpuNodes),
    reasoning: engine(parsed.reasoning, gpuNodes),
    registry: { ...registry, push: registry.push ?? registry.pull },
  };
}

function engine(
  parsed: ParsedStack["candleVllm" | "reasoning"],
  gpuNodes: readonly GpuNode[],
): EngineConfig {
  const { model } = parsed;
  return {
    ...parsed,
    node: nodeOf(parsed, gpuNodes),
    model: { ...model, source: sourceOf(model.source) },
  };
}

/** Without a name there is exactly one node: the rules refuse anything else. */
function nodeOf(workload: { readonly node?: string | undefined }, gpuNodes: readonly GpuNode[]) {
  return workload.node ?? gpuNodes.map(({ name }) => name).join();
}

/** Narrows a source to its only key. */
function sourceOf(source: ParsedStack["candleVllm"]["model"]["source"]): ModelSource {
  const { hub, folder, gguf } = source;
  if (gguf !== undefined) return { gguf };
  return folder !== undefined ? { folder } : { hub: hub ?? "" };
}
