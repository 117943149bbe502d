// `make lint-ci`: judges the workflow files, by actionlint.
import { spawnSync } from "node:child_process";
import { resolveTools, ToolchainError } from "../lab/toolchain.ts";

try {
  const { actionlint } = await resolveTools(["actionlint"]);
  // It would ask shellcheck and pyflakes where they are installed, and so differ from machine to machine.
  const args = ["-shellcheck=", "-pyflakes=", ...process.argv.slice(2)];
  process.exitCode = spawnSync(actionlint, args, { stdio: "inherit" }).status ?? 1;
} catch (error) {
  if (!(error instanceof ToolchainError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
