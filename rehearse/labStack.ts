import { createHash } from "node:crypto";
import { stringify } from "yaml";
import { parseStackConfig } from "../config/parse.ts";
import { PROJECT } from "../config/schema.ts";
import { stackValues } from "../config/stackText.ts";
import type { StackConfig } from "../config/types.ts";
import { labContext } from "../lab/labFolder.ts";
import { planStack } from "../stackPlan.ts";
import { RehearsalError } from "./problem.ts";

/** A stack file made fit for a lab. */
export interface LabStack {
  /** For `--config-file`. */
  readonly text: string;
  readonly config: StackConfig;
}

type Values = Readonly<Record<string, unknown>>;

const WORKLOADS = ["clefServe", "candleVllm", "candleVllmNext", "reasoning"].map(
  (name) => `${PROJECT}:${name}`,
);

/**
 * A stack file with everything replaced that leads out of a lab: context, identity, images. Secrets stay names; the
 * lab has Secrets of these names without content. What decides about cards and restarts stays as it is: two images
 * that differ still differ.
 *
 * @param text of the stack file
 * @param file for messages, such as "Pulumi.prod.yaml of HEAD~1"
 * @throws {RehearsalError} when the program would refuse it
 * @throws {StackFileError} when it is no YAML
 */
export function labStack(text: string, stack: string, file: string): LabStack {
  const config = Object.entries(stackValues(text, file)).map(([key, value]): [string, unknown] => {
    if (key === `${PROJECT}:cluster`) return [key, labCluster(value)];
    return WORKLOADS.includes(key) && isMap(value) ? [key, withLabImage(key, value)] : [key, value];
  });
  const own = config.filter(([key]) => key.startsWith(`${PROJECT}:`));
  const parsed = refusedAs(file, () =>
    parseStackConfig(
      Object.fromEntries(own.map(([key, value]) => [key.slice(PROJECT.length + 1), value])),
      stack,
      {
        // The lab's backend has no key for what another one has encrypted.
        encrypted: own.filter(([, value]) => isEncrypted(value)).map(([key]) => shortened(key)),
        foreign: config.map(([key]) => key).filter((key) => !key.startsWith(`${PROJECT}:`)),
      },
    ),
  );
  const { problems } = planStack(parsed);
  if (problems.length > 0) {
    throw new RehearsalError(`${file} is refused by today's program:\n${problems.join("\n")}`);
  }
  return { text: stringify({ config: Object.fromEntries(config) }), config: parsed };
}

function shortened(key: string): string {
  return key.slice(PROJECT.length + 1);
}

function refusedAs<T>(file: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new RehearsalError(`${file} is refused by today's program:\n${reason}`);
  }
}

function labCluster(value: unknown): Values {
  const cluster = isMap(value) ? { ...value } : {};
  delete cluster.uid;
  return { ...cluster, context: labContext, lab: true };
}

/** Nothing is pulled in a lab; a digest of the reference keeps equal images equal and others apart. */
function withLabImage(key: string, workload: Values): Values {
  const image = typeof workload.image === "string" ? workload.image : "not set";
  const digest = createHash("sha256").update(image).digest("hex");
  return { ...workload, image: `lab.invalid/${shortened(key).toLowerCase()}@sha256:${digest}` };
}

function isMap(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether the CLI has encrypted a value, or a part of it. */
function isEncrypted(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(isEncrypted);
  if (!isMap(value)) return false;
  return typeof value.secure === "string" || Object.values(value).some(isEncrypted);
}
