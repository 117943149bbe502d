import * as pulumi from "@pulumi/pulumi";
import { parseStackConfig } from "./config/parse.ts";
import { ConfigError } from "./config/problems.ts";
import { PROJECT } from "./config/schema.ts";
import type { StackConfig } from "./config/types.ts";

export { parseStackConfig } from "./config/parse.ts";
export { ConfigError } from "./config/problems.ts";
export type * from "./config/types.ts";

/**
 * Reads this stack's whole configuration from Pulumi: the only place that does.
 *
 * @throws pulumi.RunError that lists every problem, one a line
 */
export function readConfig(): StackConfig {
  const all = Object.entries(pulumi.runtime.allConfig());
  const own = all.filter(([key]) => isOwn(key));
  const foreign = all.filter(([key]) => !isOwn(key));
  const encrypted = encryptedKeys();
  try {
    return parseStackConfig(
      Object.fromEntries(own.map(([key, text]) => [nameOf(key), decoded(text)])),
      pulumi.getStack(),
      {
        encrypted: encrypted.filter(isOwn).map(nameOf),
        foreign: foreign.map(([key]) => key),
        foreignPlain: Object.fromEntries(foreign.filter(([key]) => !encrypted.includes(key))),
      },
    );
  } catch (error) {
    throw error instanceof ConfigError ? new pulumi.RunError(error.message) : error;
  }
}

const isOwn = (key: string): boolean => key.startsWith(`${PROJECT}:`);

const nameOf = (key: string): string => key.slice(PROJECT.length + 1);

/** Maps and lists arrive as JSON; everything else is text, and stays what it is. */
function decoded(text: string): unknown {
  if (!/^[[{]/.test(text)) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/**
 * Full keys that are encrypted, wholly or in a part. The engine passes them beside the decrypted values; the SDK reads
 * the same variable and has no public function for it.
 */
function encryptedKeys(): string[] {
  const text = process.env.PULUMI_CONFIG_SECRET_KEYS ?? "";
  const keys: unknown = text === "" ? [] : JSON.parse(text);
  return Array.isArray(keys) ? keys.filter((key) => typeof key === "string") : [];
}
