import { spawn } from "node:child_process";
import { basename } from "node:path";

/**
 * Runs a program to its end.
 * @returns what it printed on stdout
 * @throws Error with what it printed on stderr when it fails; AbortError when `signal` ends it
 */
export async function run(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
  input = "",
): Promise<string> {
  const child = spawn(program, args, { env, signal, stdio: "pipe" });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  // A program that ends without reading its input is judged by its exit code.
  child.stdin.on("error", () => undefined).end(input);
  let failure: Error | undefined;
  child.on("error", (error) => (failure = error));
  // Also after an abort: nothing that this started still writes when it has returned.
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  if (failure !== undefined) throw failure;
  if (code === 0) return stdout;
  const what = `${basename(program)} failed (exit code ${code ?? "none"})`;
  throw new Error(`${what}: ${causeIn(stderr)}\n  command: ${program} ${args.join(" ")}`);
}

/**
 * The cause of a failure in what a program printed or logged: a full disk, else the last error of a
 * JSON log (kwok, etcd), else its last lines.
 */
export function causeIn(log: string): string {
  if (log.includes("no space left on device")) return "no space left on device";
  const errors = [...log.matchAll(/"err(?:or)?":("(?:[^"\\]|\\.)+")/g)];
  const last = errors.at(-1)?.[1];
  return last === undefined
    ? log.trimEnd().split("\n").slice(-3).join("\n")
    : String(JSON.parse(last));
}
