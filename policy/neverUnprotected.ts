import type { ResourceValidationPolicy } from "@pulumi/policy";
import { known } from "./known.ts";
import type { Manifest } from "./manifest.ts";

/** The objects that must never go, by the end of their type and by their name in the cluster. */
const GUARDED: readonly (readonly [type: string, name: string])[] = [
  ["kubernetes:core/v1:Service", "coder-predictor"],
  ["kubernetes:core/v1:Namespace", "llm-serving"],
];

/** Service coder-predictor and its namespace carry `protect`, which stops their deletion and replacement in the preview. */
export const neverUnprotected: ResourceValidationPolicy = {
  name: "never-unprotected",
  description: "Service coder-predictor and namespace llm-serving are protected.",
  validateResource: known(({ type, props, opts }, report) => {
    const { metadata }: Manifest = props;
    if (!GUARDED.some(([kind, name]) => type === kind && metadata?.name === name)) return;
    if (opts.protect) return;
    report(
      "protect = false: a later edit could delete or replace it, and poimen-memory would lose the ClusterIP that it " +
        "holds (true); put the options of components/guards.ts back",
    );
  }),
};
