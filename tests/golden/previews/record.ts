// `make record-previews`: the previews behind the golden reports, from the real CLI on labs of their own. It rewrites the
// recordings; the reports follow with `make golden`.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ADOPT } from "../../../adopt/imports.ts";
import { type Lab, startLab, stopLab } from "../../../lab/lab.ts";
import { runPreview } from "../../../review/runPreview.ts";
import { stackEdits } from "../../../review/stackEdits.ts";
import { warningsOfFile } from "../../../review/standingWarnings.ts";
import { must, Victim } from "../../attacks/victim.ts";
import { startFrom } from "../../fixtures/adoption/adoption.ts";
import { pulumi } from "../../support/lab.ts";
import { stackCopy } from "../../support/stackCopy.ts";
import { keepPreview } from "./recordedPreview.ts";
import { FULL, type Scenario, scenarios } from "./scenarios.ts";

const LAB = "record-previews";
const repository = join(import.meta.dirname, "..", "..", "..");

async function record(victim: Victim, scenario: Scenario): Promise<void> {
  const { name, applied = {}, edits = {}, program = [], policies = false } = scenario;
  const { lab, folder } = victim;
  const file = stackCopy("dev");
  file.edit({ ...FULL, ...applied });
  const before = await readFile(file.path, "utf8");
  try {
    const up = ["up", "--stack=dev", "--yes", "--skip-preview"];
    must(await pulumi(lab, up, { configFile: file.path, cwd: folder }), "pulumi up");
    await scenario.prepare?.(victim);
    for (const edit of program) await victim.edit(edit);
    file.edit(edits);
    const env = { ...lab.env, ...(await scenario.env?.(victim)) };
    const policyPacks = policies ? [join(repository, "policy")] : [];
    const options = { stack: "dev", env, configFile: file.path, folder, policyPacks };
    const run = await runPreview(options);
    const changed = stackEdits(before, await readFile(file.path, "utf8"), "Pulumi.dev.yaml");
    const baseWarnings = warningsOfFile(before, "dev");
    const changedFiles = [...new Set(program.map((edit) => edit.file))].sort();
    keepPreview(
      name,
      { ...run, edits: changed, baseWarnings, changedFiles },
      placesOf(folder, policyPacks),
    );
    console.log(`${name}: ${run.seconds.toFixed(1)} s`);
  } finally {
    await victim.undoEdits();
    file.remove();
  }
}

/** A first installation, and a namespace that kubectl made. */
async function recordBeginnings(lab: Lab): Promise<void> {
  const keep = async (name: string, variables: Readonly<Record<string, string>> = {}) => {
    const run = await runPreview({ stack: "dev", env: { ...lab.env, ...variables } });
    keepPreview(
      name,
      { ...run, edits: [], baseWarnings: [], changedFiles: [] },
      placesOf(repository, []),
    );
    console.log(`${name}: ${run.seconds.toFixed(1)} s`);
  };
  await keep("first-installation");
  await startFrom(lab, "plain");
  await keep("adoption-refused");
  const imports = {
    "kubernetes:core/v1:Namespace::llm-serving": "llm-serving",
    "kubernetes:apps/v1:Deployment::clef-serve": "llm-serving/clef-serve",
    "kubernetes:core/v1:Service::clef-serve": "llm-serving/clef-serve",
    "kubernetes:core/v1:Service::coder-predictor": "llm-serving/coder-predictor",
    "kubernetes:core/v1:Service::reasoning-long": "llm-serving/reasoning-long",
  };
  // Its dry runs would conflict with kubectl's field managers until `make adopt` has handed them over.
  const env = { [ADOPT]: JSON.stringify(imports), PULUMI_K8S_ENABLE_SERVER_SIDE_APPLY: "false" };
  await keep("adoption", env);
  await keep("no-passphrase", { PULUMI_CONFIG_PASSPHRASE: "wrong" });
}

function placesOf(folder: string, packs: readonly string[]): Readonly<Record<string, string>> {
  return { [folder]: "/llm-serving", ...Object.fromEntries(packs.map((pack) => [pack, "policy"])) };
}

async function main(wanted: string): Promise<void> {
  const chosen = scenarios.filter(({ name }) => name.startsWith(wanted));
  await stopLab(LAB);
  if (chosen.length > 0) {
    const victim = await Victim.on(await startLab({ name: LAB, log: console.log }));
    try {
      for (const scenario of chosen) await record(victim, scenario);
    } finally {
      await victim.remove();
      await stopLab(LAB);
    }
  }
  if (wanted !== "" && !"beginnings".startsWith(wanted)) return;
  await recordBeginnings(await startLab({ name: LAB, log: console.log }));
  await stopLab(LAB);
}

// A part of a name, for a person who records one again.
await main(process.argv[2] ?? "");
