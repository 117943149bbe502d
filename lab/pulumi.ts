// Runs the Pulumi CLI for a stack: `node lab/pulumi.ts <stack> <arguments>`. The dev stack lives on the lab, which is
// started if it does not run; every other stack uses the caller's own kubeconfig, backend and login.
import { spawn } from "node:child_process";
import { startLab } from "./lab.ts";
import { prependedPath } from "./labFolder.ts";
import { resolveToolchain } from "./toolchain.ts";

/**
 * Environment for the CLI. Where the CLI is not installed, the project's own build of it is used, and with it
 * a PULUMI_HOME that holds the provider, unless the caller has chosen one.
 * @throws Error with the cause and the next command when the lab or the tools cannot be had
 */
async function environmentOf(stack: string): Promise<Readonly<Record<string, string | undefined>>> {
  const log = (line: string): void => {
    console.error(line);
  };
  if (stack === "dev") return (await startLab({ log })).env;
  const { binFolder, pulumiHome } = await resolveToolchain({ log });
  return {
    PULUMI_HOME: pulumiHome,
    ...process.env,
    PATH: prependedPath([binFolder], process.env.PATH),
  };
}

async function main([stack, ...args]: readonly string[]): Promise<number> {
  if (stack === undefined || stack === "" || args.length === 0) {
    console.error("usage: node lab/pulumi.ts <stack> <pulumi's arguments>");
    return 2;
  }
  const env = await environmentOf(stack);
  const child = spawn("pulumi", [...args, "--stack", stack], { env, stdio: "inherit" });
  // Ctrl-C reaches the CLI by itself; it ends in its own time, and this process with it.
  process.on("SIGINT", () => undefined);
  return new Promise((resolve, reject) => {
    child.on("error", reject).on("close", (code) => {
      resolve(code ?? 1);
    });
  });
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
