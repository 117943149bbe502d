// Runs the Pulumi CLI for a stack: `node lab/pulumi.ts <stack> <arguments>`. The dev stack lives on the lab, which is
// started if it does not run; every other stack uses the caller's own kubeconfig, backend and login.
import { spawn } from "node:child_process";
import { stackEnvironment } from "./stackEnvironment.ts";

async function main([stack, ...args]: readonly string[]): Promise<number> {
  if (stack === undefined || stack === "" || args.length === 0) {
    console.error("usage: node lab/pulumi.ts <stack> <pulumi's arguments>");
    return 2;
  }
  const env = await stackEnvironment(stack);
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
