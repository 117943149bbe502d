import type { StepEventMetadata } from "@pulumi/pulumi/automation/events.js";
import type { PreviewFacts } from "../../previewFacts.ts";

/** One side of a step. */
interface Side {
  readonly inputs?: Readonly<Record<string, unknown>>;
  readonly protect?: boolean;
  readonly retainOnDelete?: boolean;
}

const TYPES: Readonly<Record<string, string>> = {
  Deployment: "kubernetes:apps/v1:Deployment",
  Service: "kubernetes:core/v1:Service",
  Namespace: "kubernetes:core/v1:Namespace",
  Secret: "kubernetes:core/v1:Secret",
};

/**
 * A step of the engine for a Kubernetes object.
 * @param title kind and name, as in "Service coder-predictor"
 */
export function step(
  op: string,
  title: string,
  sides: { readonly old?: Side; readonly new?: Side },
  more: Partial<StepEventMetadata> = {},
): StepEventMetadata {
  const [kind = "", name = ""] = title.split(" ");
  const type = TYPES[kind] ?? kind;
  const side = (of: Side | undefined) => of && { custom: true, inputs: {}, outputs: {}, ...of };
  return {
    ...{ op, type, logical: true, provider: "" },
    urn: `urn:pulumi:dev::llm-serving::${type}::${name}`,
    ...(sides.old ? { old: side(sides.old) } : {}),
    ...(sides.new ? { new: side(sides.new) } : {}),
    ...more,
  } as StepEventMetadata;
}

/** Inputs of a Deployment. */
export function deployment(replicas: number, template: object = {}): Side {
  return { inputs: { spec: { replicas, template } } };
}

/** An event log of these steps, and of a preview that ended well. */
export function eventLog(steps: readonly StepEventMetadata[], result = "succeeded"): string {
  const events = [
    ...steps.map((metadata) => ({ resourcePreEvent: { metadata } })),
    { summaryEvent: { result } },
  ];
  return events.map((event) => JSON.stringify(event)).join("\n");
}

/** Facts of a stack on a cluster that was reached. */
export function previewFactsOf(changes: Partial<PreviewFacts> = {}): PreviewFacts {
  return {
    context: "platform-onprem",
    server: "https://127.0.0.1:6443",
    before: [],
    after: [],
    verdict: "fits",
    parked: [],
    coderBackend: "candle-vllm",
    strangers: [],
    drift: [],
    warnings: [],
    notes: [],
    ...changes,
  };
}
