import { readdirSync, readFileSync } from "node:fs";
import * as pulumi from "@pulumi/pulumi";
import { importAdopted } from "./adopt/imports.ts";
import { offline, readCluster } from "./cluster.ts";
import { CandleVllm } from "./components/candleVllm.ts";
import { ClefServe } from "./components/clefServe.ts";
import { CoderPredictor, refuseDelete } from "./components/coderPredictor.ts";
import { CODER_BASE_URL } from "./components/names.ts";
import { Reasoning } from "./components/reasoning.ts";
import { ServingNamespace } from "./components/servingNamespace.ts";
import { stackProvider } from "./components/stackProvider.ts";
import { readConfig } from "./config.ts";
import { planStack } from "./stackPlan.ts";

const stack = pulumi.getStack();
const config = readConfig();
importAdopted();
if (!offline(pulumi.runtime.isDryRun())) await readCluster(config.cluster);

const plan = planStack(config);
if (plan.problems.length > 0) throw new pulumi.RunError(plan.problems.join("\n"));

const provider = stackProvider(config.cluster.context);
const opts = { providers: { kubernetes: provider } };

const namespace = new ServingNamespace("llm-serving", { stack, ...config.access }, opts);
const inNamespace = { ...opts, dependsOn: [namespace] };
const common = { stack, pullSecret: config.registry.pullSecret };

new ClefServe(
  "clef-serve",
  { ...common, ...config.clefServe, bootFiles: bootFiles() },
  inNamespace,
);
new CandleVllm("candle-vllm", { ...common, ...config.candleVllm }, inNamespace);
new CandleVllm("candle-vllm-next", { ...common, ...config.candleVllmNext }, inNamespace);
new Reasoning("reasoning", { ...common, ...config.reasoning }, inNamespace);
const coderPredictor = new CoderPredictor(
  "coder-predictor",
  { stack, ...config.coderService, hooks: refuseDelete() },
  inNamespace,
);

export const gpuAllocation = plan.allocation;
export const workloads = plan.workloads;
export const routes = plan.routes;
export const coderBaseUrl = CODER_BASE_URL;
export const coderClusterIP = coderPredictor.clusterIp;

/** What clef-serve's pod boots from: the locked packages and every Python file beside them. */
function bootFiles(): Record<string, string> {
  const folder = new URL("images/clef-serve/", import.meta.url);
  const names = readdirSync(folder).filter((name) => /^requirements\.txt$|\.py$/.test(name));
  return Object.fromEntries(
    names.sort().map((name) => [name, readFileSync(new URL(name, folder), "utf8")]),
  );
}
