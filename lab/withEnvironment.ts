// Runs a program in the environment of a stack: `node lab/withEnvironment.ts <stack> <program> <arguments>`. Programs of
// this project take the caller's environment; this gives them the lab's for dev, and a Pulumi CLI where none is installed.
import { checkedStack } from "../config/stackFile.ts";
import { foreground } from "./foreground.ts";
import { stackEnvironment } from "./stackEnvironment.ts";

async function main([stack, program, ...args]: readonly string[]): Promise<number> {
  if (stack === undefined || program === undefined) {
    console.error("usage: node lab/withEnvironment.ts <stack> <program> <arguments>");
    return 1;
  }
  return foreground(program, args, await stackEnvironment(checkedStack(stack)));
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
