import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseStackConfig } from "../config/parse.ts";
import { ConfigError, Remedies } from "../config/problems.ts";
import { PROJECT, stackSchema } from "../config/schema.ts";
import { checkedStack, stackFile } from "../config/stackFile.ts";
import { ownValues } from "../config/stackText.ts";
import { PublishError } from "./publishError.ts";

const repository = join(import.meta.dirname, "..");

/** Where an image goes to, and where the nodes find it. Both `host/path` without a tag. */
export interface Registry {
  readonly pull: string;
  readonly push: string;
  /** Largest body of one request that is sent, in MiB, 1..10240. */
  readonly maxLayerMiB: number;
}

/**
 * The registry of a stack. What else is wrong with the stack does not matter here: before its first image it is never
 * complete.
 * @param folder folder of the stack files
 * @throws {PublishError} with every problem of the keys below `registry`
 * @throws {StackFileError} when the stack has no file, or one that is no YAML
 */
export function registryOf(stack: string, folder = repository): Registry {
  const remedies = new Remedies(stack);
  const file = stackFile(checkedStack(stack, folder));
  const raw = ownValues(readFileSync(join(folder, file), "utf8"), file);
  const problems = problemsOf(raw, stack);
  if (problems.length > 0) throw new PublishError(problems.join("\n"));
  const { pull, push = pull, maxLayerMiB } = stackSchema.shape.registry.parse(raw.registry);
  if (pull === undefined || push === undefined) {
    const remedy = remedies.set(["registry", "pull"], "registry.example/llm");
    throw new PublishError(
      `${PROJECT}:registry.pull is not set: nobody but you knows your registry (host/path without tag); ${remedy}`,
    );
  }
  return { pull: withHost(pull), push: withHost(push), maxLayerMiB };
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
