import { spawn } from "node:child_process";

/**
 * Runs a program in the foreground, on this process's own terminal. Ctrl-C reaches it by itself: it ends in its own time,
 * and this process with it, so that `pulumi up` can still save its state. SIGTERM, which only this process gets, is passed
 * on.
 * @returns its exit code; 1 when a signal ended it
 * @throws Error when it cannot be started
 */
export async function foreground(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const ignore = (): void => undefined;
  const passOn = (): void => {
    child.kill("SIGTERM");
  };
  // Before the program is there: it may be told to end as soon as it is.
  process.on("SIGINT", ignore).on("SIGTERM", passOn);
  const child = spawn(program, args, { env, stdio: "inherit" });
  try {
    return await new Promise((resolve, reject) => {
      child.on("error", reject).on("close", (code) => {
        resolve(code ?? 1);
      });
    });
  } finally {
    process.off("SIGINT", ignore).off("SIGTERM", passOn);
  }
}
