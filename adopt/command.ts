import { spawn } from "node:child_process";
import { join } from "node:path";

/** The clone's root, where the stack files are. */
export const repository = join(import.meta.dirname, "..");

/** Why adoption stops, for a person: what is wrong and what to do. */
export class AdoptionError extends Error {}

/** What a program did. */
export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** How a program runs beside its arguments. */
export interface CommandOptions {
  /** Variables beside this process's own. */
  readonly env?: Readonly<Record<string, string>>;
  /** Text on its standard input. */
  readonly input?: string;
  /** The user sees what it prints; the outcome's texts are then empty. */
  readonly shown?: boolean;
}

/**
 * Runs a program of PATH in the clone's root to its end, with the caller's environment.
 * @throws {AdoptionError} when it cannot be started
 */
export async function command(
  program: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<Outcome> {
  const child = spawn(program, args, {
    cwd: repository,
    env: { ...process.env, ...options.env },
    stdio: options.shown === true ? ["ignore", "inherit", "inherit"] : "pipe",
  });
  let stdout = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  // A program that ends without reading its input is judged by its exit code.
  child.stdin?.on("error", () => undefined).end(options.input ?? "");
  return new Promise((resolve, reject) => {
    child
      .on("error", (error) => {
        reject(new AdoptionError(`${program}: ${error.message}; it must be on PATH`));
      })
      .on("close", (code) => {
        resolve({ code: code ?? 1, stdout, stderr });
      });
  });
}
