import { readdirSync, readFileSync } from "node:fs";
import * as pulumi from "@pulumi/pulumi";
import { adopting, importAdopted } from "./adopt/imports.ts";
import { clusterState } from "./cluster.ts";
import { CandleVllm } from "./components/candleVllm.ts";
import { ClefServe } from "./components/clefServe.ts";
import { CoderPredictor } from "./components/coderPredictor.ts";
import { refuseDelete } from "./components/guards.ts";
import { CODER_BASE_URL } from "./components/names.ts";
import { Reasoning } from "./components/reasoning.ts";
import { Reviewer } from "./components/reviewer.ts";
import { ServingNamespace } from "./components/servingNamespace.ts";
import { stackProvider } from "./components/stackProvider.ts";
import { readConfig } from "./config.ts";
import { requirementProblems } from "./gpu/requirements.ts";
import { printReport } from "./previewReport.ts";
import { awaitRollouts } from "./rollout/rollouts.ts";
import { planStack } from "./stackPlan.ts";

const stack = pulumi.getStack();
const config = readConfig();
importAdopted();
const files = bootFiles();
const preview = pulumi.runtime.isDryRun();
const adoption = adopting() !== undefined;
const cluster = await clusterState(config, { stack, bootFiles: files, preview, adoption });

const plan = planStack(config, cluster?.gpus);
if (preview) await printReport({ config, plan, cluster });
const problems = [
  ...requirementProblems(files["requirements.txt"] ?? "", "images/clef-serve/requirements.txt"),
  ...(cluster?.problems ?? []),
  ...plan.problems,
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
const common = { stack, pullSecret: config.registry.pullSecret };

const clefServe = new ClefServe(
  "clef-serve",
  { ...common, ...config.clefServe, bootFiles: files },
  inNamespace,
);
const candleVllm = new CandleVllm("candle-vllm", { ...common, ...config.candleVllm }, inNamespace);
const candleVllmNext = new CandleVllm(
  "candle-vllm-next",
  { ...common, ...config.candleVllmNext },
  inNamespace,
);
const reasoning = new Reasoning("reasoning", { ...common, ...config.reasoning }, inNamespace);
const coderPredictor = new CoderPredictor(
  "coder-predictor",
  { stack, ...config.coderService, hooks },
  inNamespace,
);
if (config.access.reviewer) new Reviewer("reviewer", { stack }, inNamespace);

const workloadsMade = [clefServe, candleVllm, candleVllmNext, reasoning];
if (!preview)
  await awaitRollouts(
    config,
    workloadsMade.map(({ deployment }) => deployment),
  );

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
