import type { StackValidationPolicy } from "@pulumi/policy";
import { known } from "./known.ts";
import { type Manifest, podTemplateOf } from "./manifest.ts";

/**
 * Each Service selects the pods of exactly one workload. None: a route without an answer. Two: requests for one model
 * reach another.
 */
export const oneWorkloadPerService: StackValidationPolicy = {
  name: "one-workload-per-service",
  description: "The selector of each Service matches exactly one workload.",
  validateStack: known(({ resources }, report) => {
    const manifests = resources
      .filter(({ type }) => type.startsWith("kubernetes:"))
      .map(({ type, urn, props }): { type: string; urn: string; manifest: Manifest } => ({
        type,
        urn,
        manifest: props,
      }));
    for (const { type, urn, manifest } of manifests) {
      if (type !== "kubernetes:core/v1:Service") continue;
      const { metadata, spec } = manifest;
      const selector = Object.entries(spec?.selector ?? {});
      const matched = manifests
        .map((other) => other.manifest)
        .filter((other) => other.metadata?.namespace === metadata?.namespace)
        .filter((other) => {
          const labels = podTemplateOf(other)?.metadata?.labels ?? {};
          // A Service without a selector selects nothing.
          return selector.length > 0 && selector.every(([key, value]) => labels[key] === value);
        })
        .map((other) => other.metadata?.name ?? "");
      if (matched.length === 1) continue;
      const text = selector.map(([key, value]) => `${key}: ${String(value)}`).join(", ");
      report(
        `Service ${metadata?.name ?? ""}: spec.selector = {${text}}: matches ` +
          `${matched.length === 0 ? "no workload" : matched.join(" and ")} (exactly one); correct the selector, or the ` +
          "labels of the pod template",
        urn,
      );
    }
  }),
};
