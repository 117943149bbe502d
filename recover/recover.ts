// `make recover STACK=`: what a killed or crashed run has left behind is shown, and cleared once a person says so.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { checkedStack, repository } from "../config/stackFile.ts";
import { run } from "../lab/run.ts";
import { blockers, type Findings, findingLines, isClean, pendingOperations } from "./findings.ts";
import { lockFolder, locksIn } from "./locks.ts";
import { endAll, orphanedProviders } from "./processes.ts";

const usage =
  "usage: node recover/recover.ts --stack <name> [--yes]   (--yes: for tests; asks nothing)";

/** The caller's environment: recovery works on the backend and the cluster that the interrupted run worked on. */
const environment = Object.fromEntries(
  Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
);

/** @throws Error with the CLI's message when it fails */
async function pulumi(...args: string[]): Promise<string> {
  const all = [`--cwd=${repository}`, "--non-interactive", ...args];
  return run("pulumi", all, environment, new AbortController().signal);
}

/** Runs the CLI so that a person sees what it does. @returns its exit code */
async function shown(...args: string[]): Promise<number> {
  const all = [`--cwd=${repository}`, "--non-interactive", ...args];
  const child = spawn("pulumi", all, { env: environment, stdio: ["ignore", "inherit", "inherit"] });
  return new Promise((done, reject) => {
    child.on("error", reject).on("close", (code) => {
      done(code ?? 1);
    });
  });
}

async function look(stack: string): Promise<Findings> {
  const { url } = JSON.parse(await pulumi("whoami", "--json")) as { readonly url: string };
  const folder = lockFolder(url, stack);
  const [locks, exported, orphans] = await Promise.all([
    folder === undefined ? undefined : locksIn(folder),
    pulumi("stack", "export", `--stack=${stack}`),
    orphanedProviders(repository),
  ]);
  return { locks, pending: pendingOperations(exported), orphans };
}

/** Clears in the order in which things hold each other up: writers, the lock, then the state. @returns the exit code */
async function clear(stack: string, { locks = [], orphans }: Findings): Promise<number> {
  // It may still be writing to the cluster, which a refresh must not race.
  await endAll(orphans);
  if (locks.length > 0) await pulumi("cancel", "--yes", `--stack=${stack}`);
  const options = ["--yes", "--skip-preview", "--clear-pending-creates", "--suppress-outputs"];
  const code = await shown("refresh", `--stack=${stack}`, ...options);
  if (code !== 0) return code;
  const left = await look(stack);
  if (!isClean(left)) {
    console.error(["Still there:", ...findingLines(left), ...blockers(left)].join("\n  "));
    return 1;
  }
  console.log(`\nRecovered. Next: \`make preview STACK=${stack}\`, then \`pulumi up\`.`);
  return 0;
}

async function confirmed(): Promise<boolean> {
  if (!process.stdin.isTTY) {
    console.error("Nothing was changed: this asks before it acts, and there is no terminal.");
    return false;
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question("Clear this, then refresh the state? (yes/no) ");
  terminal.close();
  if (answer.trim() === "yes") return true;
  console.error("Nothing was changed.");
  return false;
}

/** @returns 0 nothing to do or recovered, 1 not recovered, 2 wrong usage */
async function main(): Promise<number> {
  const { stack, yes } = parseArgs({
    options: { stack: { type: "string" }, yes: { type: "boolean", default: false } },
  }).values;
  if (stack === undefined) {
    console.error(usage);
    return 2;
  }
  const findings = await look(checkedStack(stack));
  for (const line of findingLines(findings)) console.log(line);
  const blocked = blockers(findings);
  if (blocked.length > 0) {
    console.error(["Nothing was changed:", ...blocked].join("\n  "));
    return 1;
  }
  if (isClean(findings)) {
    console.log(`Nothing to recover in stack ${stack}.`);
    return 0;
  }
  return yes || (await confirmed()) ? clear(stack, findings) : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
