import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const program = resolve(import.meta.dirname, "..", "..", "publish", "publish.ts");

/** What `make image` did; `text` is all that it printed. */
export interface Published {
  readonly code: number;
  readonly text: string;
}

/** The keys below `llm-serving:registry` of a stack file. */
export type RegistryKeys = Readonly<Record<string, string | number | boolean>>;

/**
 * Runs what `make image STACK=test` runs, with a stack file that states a registry alone, and without the user's
 * Docker logins.
 * @param folder of the test's own
 * @param interruption when it gets `signal`
 */
export async function publishWith(
  folder: string,
  registry: RegistryKeys,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  interruption?: Promise<unknown>,
  signal: NodeJS.Signals = "SIGTERM",
): Promise<Published> {
  mkdirSync(folder, { recursive: true });
  const config = { "llm-serving:registry": registry };
  writeFileSync(join(folder, "Pulumi.test.yaml"), JSON.stringify({ config }));
  const child = spawn(
    process.execPath,
    [program, "--stack=test", `--stack-folder=${folder}`, ...args],
    { env: { ...process.env, DOCKER_CONFIG: join(folder, "no-logins"), ...env }, stdio: "pipe" },
  );
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (part: string) => (text += part));
  void interruption?.then(() => child.kill(signal));
  child.stderr.setEncoding("utf8").on("data", (part: string) => (text += part));
  const [code] = (await once(child, "close")) as [number | null];
  return { code: code ?? -1, text };
}
