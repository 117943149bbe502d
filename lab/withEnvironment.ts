// Runs a program in the environment of a stack: `node lab/withEnvironment.ts <stack> <program> <arguments>`. Programs of
// this project take the caller's environment; this gives them the lab's for dev, and a Pulumi CLI where none is installed.
import { spawn } from "node:child_process";
import { stackEnvironment } from "./stackEnvironment.ts";

async function main([stack, program, ...args]: readonly string[]): Promise<number> {
  if (stack === undefined || stack === "" || program === undefined) {
    console.error("usage: node lab/withEnvironment.ts <stack> <program> <arguments>");
    return 1;
  }
  const child = spawn(program, args, { env: await stackEnvironment(stack), stdio: "inherit" });
  // Ctrl-C reaches the program by itself; it ends in its own time, and this process with it.
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
