import { readdirSync, readFileSync } from "node:fs";
import * as pulumi from "@pulumi/pulumi";
import { adopting, importAdopted } from "./adopt/imports.ts";
import { clusterState } from "./cluster.ts";
import { Alerts } from "./components/alerts.ts";
import { CoderPredictor } from "./components/coderPredictor.ts";
import { refuseDelete } from "./components/guards.ts";
import { CODER_BASE_URL } from "./components/names.ts";
import { Reviewer } from "./components/reviewer.ts";
import { ServingNamespace } from "./components/servingNamespace.ts";
import { stackProvider } from "./components/stackProvider.ts";
import { registerWorkloads, templateFingerprints } from "./components/workloads.ts";
import { readConfig } from "./config.ts";
import { registrationOrder } from "./gpu/moves.ts";
import { requirementProblems } from "./gpu/requirements.ts";
import { printReport } from "./previewReport.ts";
import { awaitRollouts } from "./rollout/rollouts.ts";
import { forecastStack } from "./stackForecast.ts";
import { alertFacts, planStack } from "./stackPlan.ts";

const stack = pulumi.getStack();
const config = readConfig();
importAdopted();
const files = bootFiles();
const preview = pulumi.runtime.isDryRun();
const adoption = adopting() !== undefined;
const cluster = await clusterState(config, { stack, bootFiles: files, preview, adoption });

const common = { stack, pullSecret: config.registry.pullSecret };
const workloadArgs = {
  clefServe: { ...common, ...config.clefServe, bootFiles: files },
  candleVllm: { ...common, ...config.candleVllm },
  candleVllmNext: { ...common, ...config.candleVllmNext },
  reasoning: { ...common, ...config.reasoning },
};
const plan = planStack(config, cluster?.gpus);
// Of objects that are not managed yet nothing is known: what adoption restarts, `make adopt-plan` says.
const change =
  cluster === undefined || adoption
    ? undefined
    : forecastStack(config, plan, cluster, templateFingerprints(workloadArgs));
if (preview) await printReport({ config, plan, cluster, change });
const problems = [
  ...requirementProblems(files["requirements.txt"], "images/clef-serve/requirements.txt"),
  ...(cluster?.problems ?? []),
  ...plan.problems,
  ...(change?.problems ?? []),
];
if (problems.length > 0) throw new pulumi.RunError(problems.join("\n"));

const provider = stackProvider(config.cluster.context);
const opts = { providers: { kubernetes: provider } };
const hooks = refuseDelete();
const namespace = new ServingNamespace(
  "llm-serving",
  { stack, ...config.access, admissionGuard: config.cluster.admissionGuard, hooks },
  opts,
);
const inNamespace = { ...opts, dependsOn: [namespace] };
const order = registrationOrder(cluster?.cards ?? [], plan.allocation, Object.keys(plan.workloads));
const deployments = registerWorkloads(workloadArgs, order, inNamespace);
const coderPredictor = new CoderPredictor(
  "coder-predictor",
  { stack, ...config.coderService, hooks },
  inNamespace,
);
const kinds = cluster?.monitoringKinds ?? [];
if (kinds.length > 0) new Alerts("alerts", { stack, kinds, ...alertFacts(config) }, inNamespace);
if (config.access.reviewer) new Reviewer("reviewer", { stack }, inNamespace);
if (!preview) await awaitRollouts(config, deployments);

export const gpuAllocation = plan.allocation;
export const workloads = plan.workloads;
export const routes = plan.routes;
export const coderBaseUrl = CODER_BASE_URL;
export const coderClusterIP = coderPredictor.clusterIp;

/** What clef-serve's pod boots from: the locked packages and the Python files beside them that its bootstrap runs. */
function bootFiles(): Record<string, string> {
  const folder = new URL("images/clef-serve/", import.meta.url);
  const unused = config.clefServe.bootstrap === "prepared" ? undefined : "packages.py";
  const names = readdirSync(folder)
    .filter((name) => /^requirements\.txt$|\.py$/.test(name))
    .filter((name) => name !== unused);
  return Object.fromEntries(
    names.sort().map((name) => [name, readFileSync(new URL(name, folder), "utf8")]),
  );
}
