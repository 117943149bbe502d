import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parse } from "yaml";
import * as pulumi from "@pulumi/pulumi";
import { type Registered, registered } from "./mocks.ts";

const repository = resolve(import.meta.dirname, "..", "..");

/** Values of a stack file's `config:`, by full key. */
export type StackFile = Record<string, Record<string, unknown>>;

/** A committed stack's configuration. */
export function stackFile(stack: string): StackFile {
  const text = readFileSync(resolve(repository, `Pulumi.${stack}.yaml`), "utf8");
  return (parse(text) as { config: StackFile }).config;
}

/** A stack's configuration with what only its owners know: images, and the cluster's uid. */
export function completed(config: StackFile): StackFile {
  const image = `registry.example/llm/image@sha256:${"0".repeat(64)}`;
  const workloads = ["clefServe", "candleVllm", "candleVllmNext", "reasoning"];
  const cluster = config["llm-serving:cluster"];
  return {
    ...config,
    "llm-serving:cluster":
      cluster?.lab === true ? cluster : { ...cluster, uid: "00000000-0000-0000-0000-000000000000" },
    ...Object.fromEntries(
      workloads
        .map((name) => `llm-serving:${name}`)
        .map((key) => [key, { image, ...config[key] }] as const),
    ),
  };
}

/** What index.ts registers and exports. */
export interface Program {
  readonly resources: readonly Registered[];
  readonly outputs: Readonly<Record<string, unknown>>;
}

let runs = 0;

/**
 * Runs index.ts under Pulumi's mocks, as an offline preview of a stack.
 * @throws pulumi.RunError when the program refuses the configuration
 */
export async function runProgram(stack: string, config: StackFile): Promise<Program> {
  const texts = Object.entries(config).map(([key, value]) => [key, JSON.stringify(value)]);
  let exported: Record<string, unknown> = {};
  process.env.LLM_SERVING_OFFLINE = "1";
  try {
    const resources = await registered(stack, async () => {
      pulumi.runtime.setAllConfig(Object.fromEntries(texts) as Record<string, string>);
      // A query of its own makes Node run the module again.
      runs += 1;
      exported = (await import(`../../index.ts?run=${runs}`)) as Record<string, unknown>;
    });
    const outputs = await valuesOf(exported);
    return { resources, outputs };
  } finally {
    delete process.env.LLM_SERVING_OFFLINE;
  }
}

async function valuesOf(exported: Record<string, unknown>): Promise<Record<string, unknown>> {
  const entries = Object.entries(exported).map(
    async ([name, value]) => [name, await valueOf(value)] as const,
  );
  return Object.fromEntries(await Promise.all(entries));
}

async function valueOf(value: unknown): Promise<unknown> {
  if (!pulumi.Output.isInstance<unknown>(value)) return value;
  return new Promise((done) => {
    value.apply(done);
  });
}
