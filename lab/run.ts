import { spawn } from "node:child_process";
import { once } from "node:events";
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
  const [code] = (await once(child, "close")) as [number | null];
  if (code === 0) return stdout;
  throw new Error(
    `${basename(program)} failed (exit code ${code ?? "none"}): ${causeIn(stderr)}\n  command: ${program} ${args.join(" ")}`,
  );
}

/** The last error in kwokctl's JSON log; for any other program the end of what it printed. */
function causeIn(stderr: string): string {
  const errors = [...stderr.matchAll(/"err":("(?:[^"\\]|\\.)*")/g)];
  const last = errors.at(-1)?.[1];
  return last === undefined
    ? stderr.trim().split("\n").slice(-5).join("\n")
    : String(JSON.parse(last));
}
