// `make comment STACK=`: posts the report of `make review`, and that of `make rehearse`, below the change that CI runs for.
// Every variable is one that GitHub, Gitea and Forgejo set for each job, but GITHUB_TOKEN, which the workflow hands over.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { commentBody } from "./commentBody.ts";
import { type ForgeTarget, stickyComment } from "./forge.ts";

/** @throws Error naming the variable that is missing */
function variable(name: string): string {
  const value = process.env[name];
  if (value !== undefined && value !== "") return value;
  throw new Error(`${name} is not set: this is for a job of CI, of a change; see docs/ci.md`);
}

/** @throws Error when the job runs for something else than a change, or nobody can tell */
async function changeNumber(): Promise<number> {
  const file = variable("GITHUB_EVENT_PATH");
  const wrong = (what: string) =>
    new Error(
      `GITHUB_EVENT_PATH = ${file}: ${what} (the forge's file on the event, JSON); run this in a job of CI, of a ` +
        "change; see docs/ci.md",
    );
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw wrong(`cannot be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}`);
  });
  const number = numberIn(text);
  if (number === "no JSON") throw wrong("is no JSON");
  if (number !== undefined) return number;
  throw new Error("this job runs for no change (pull request): there is nothing to comment on");
}

function numberIn(event: string): number | undefined | "no JSON" {
  try {
    const { pull_request: change } = (JSON.parse(event) ?? {}) as {
      readonly pull_request?: { readonly number?: number };
    };
    return change?.number;
  } catch {
    return "no JSON";
  }
}

async function main(): Promise<void> {
  const { stack } = parseArgs({ options: { stack: { type: "string", default: "prod" } } }).values;
  const repository = variable("GITHUB_REPOSITORY");
  const target: ForgeTarget = {
    api: variable("GITHUB_API_URL"),
    repository,
    change: await changeNumber(),
    token: variable("GITHUB_TOKEN"),
  };
  const folder = join(import.meta.dirname, "..", ".review", stack);
  const read = (file: string) => readFile(join(folder, file), "utf8");
  const report = await read("report.md").catch(() => {
    throw new Error(
      `${join(folder, "report.md")} does not exist; run \`make review STACK=${stack}\` first`,
    );
  });
  const body = commentBody({
    report,
    rehearsal: await read("rehearsal.md").catch(() => undefined),
    runUrl: `${variable("GITHUB_SERVER_URL")}/${repository}/actions/runs/${variable("GITHUB_RUN_ID")}`,
  });
  console.log(`comment on change ${target.change}: ${await stickyComment(target, body)}`);
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
