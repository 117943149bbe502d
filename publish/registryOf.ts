import { parseStackConfig } from "../config/parse.ts";
import { ConfigError, keyOf, Remedies } from "../config/problems.ts";
import { PROJECT, stackSchema } from "../config/schema.ts";
import { PublishError } from "./publishError.ts";

/** Where an image goes to, and where the nodes find it. Both `host/path` without a tag. */
export interface Registry {
  readonly pull: string;
  readonly push: string;
  /** The key that push is stated by, such as `llm-serving:registry.push`. */
  readonly pushKey: string;
  /** Largest body of one request that is sent, in MiB, 1..10240. */
  readonly maxLayerMiB: number;
}

/**
 * The registry of a stack. What else is wrong with the stack does not matter here: before its first image it is never
 * complete.
 * @param raw values of the stack's file by the part of their key after `llm-serving:`
 * @throws {PublishError} with every problem of the keys below `registry`
 */
export function registryOf(raw: Readonly<Record<string, unknown>>, stack: string): Registry {
  const remedies = new Remedies(stack);
  const problems = problemsOf(raw, stack);
  if (problems.length > 0) throw new PublishError(problems.join("\n"));
  const stated = stackSchema.shape.registry.parse(raw.registry);
  const { pull, push = pull, maxLayerMiB } = stated;
  if (pull === undefined || push === undefined) {
    const remedy = remedies.set(["registry", "pull"], "registry.example/llm");
    throw new PublishError(
      `${PROJECT}:registry.pull is not set: nobody but you knows your registry (host/path without tag); ${remedy}`,
    );
  }
  const pushKey = keyOf(["registry", stated.push === undefined ? "pull" : "push"]);
  return { pull: withHost(pull), push: withHost(push), pushKey, maxLayerMiB };
}

function problemsOf(raw: Readonly<Record<string, unknown>>, stack: string): readonly string[] {
  try {
    parseStackConfig(raw, stack);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems
      .filter(({ key }) => key.startsWith(`${PROJECT}:registry`))
      .map(({ line }) => line);
  }
}

/**
 * The prefix with a first part that Docker, containerd and regctl take for a host: one without dot and port would be
 * a folder of their default registry, so that HTTPS' own port is added.
 */
function withHost(prefix: string): string {
  const [first = "", ...path] = prefix.split("/");
  const isHost = first === "localhost" || /[.:]/.test(first);
  return isHost ? prefix : [`${first}:443`, ...path].join("/");
}
