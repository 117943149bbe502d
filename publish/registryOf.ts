import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { parseStackConfig } from "../config/parse.ts";
import { ConfigError, Remedies, stackFile } from "../config/problems.ts";
import { PROJECT, stackSchema } from "../config/schema.ts";
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
 */
export function registryOf(stack: string, folder = repository): Registry {
  const remedies = new Remedies(stack);
  const raw = sectionsOf(join(folder, stackFile(stack)), stack);
  const problems = problemsOf(raw, stack);
  if (problems.length > 0) throw new PublishError(problems.join("\n"));
  const { pull, push = pull, maxLayerMiB } = stackSchema.shape.registry.parse(raw.registry);
  if (pull === undefined || push === undefined) {
    const remedy = remedies.set(["registry", "pull"], "registry.example/llm");
    throw new PublishError(
      `${PROJECT}:registry.pull is not set: nobody but you knows your registry (host/path without tag); ${remedy}`,
    );
  }
  const ambiguous = Object.entries({ pull, push })
    .filter(([, prefix]) => !hasHost(prefix))
    .map(
      ([key, prefix]) =>
        `${PROJECT}:registry.${key} = ${prefix}: clients take its first part for a folder of their default registry ` +
        `(a host with a dot or a port comes first); ${remedies.set(["registry", key], withPort(prefix))}`,
    );
  if (ambiguous.length > 0) throw new PublishError(ambiguous.join("\n"));
  return { pull, push, maxLayerMiB };
}

/** Values of a stack file by the part of their key after `llm-serving:`. */
function sectionsOf(file: string, stack: string): Record<string, unknown> {
  let content: unknown;
  try {
    content = parse(readFileSync(file, "utf8"));
  } catch (error) {
    const why = error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
    throw new PublishError(
      `${stackFile(stack)}: cannot be read: ${why}; name a stack whose file can (STACK=prod)`,
    );
  }
  const { config } = (content ?? {}) as { readonly config?: Readonly<Record<string, unknown>> };
  return Object.fromEntries(
    Object.entries(config ?? {})
      .filter(([key]) => key.startsWith(`${PROJECT}:`))
      .map(([key, value]) => [key.slice(PROJECT.length + 1), value]),
  );
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

/** Whether Docker, containerd and regctl take the first part for a host. */
function hasHost(prefix: string): boolean {
  return /^(localhost|[^/]*[.:][^/]*)\//.test(prefix);
}

function withPort(prefix: string): string {
  return prefix.includes("/") ? prefix.replace("/", ":443/") : `${prefix}:443/llm`;
}
