import type { ResourceValidationPolicy } from "@pulumi/policy";
import { known } from "./known.ts";
import { containersOf, type Manifest } from "./manifest.ts";

/** Stacks whose pods run no image: the lab. By the stack's name in the URN, which no edit of the program changes. */
const WITHOUT_IMAGES: readonly string[] = ["dev"];

const BY_DIGEST = /@sha256:[0-9a-f]{64}$/;

/** Images are named by digest: a tag can change under a running pod. A parked workload may have none yet. */
export const digests: ResourceValidationPolicy = {
  name: "digests",
  description: "Every image that a pod may run is named by its digest.",
  validateResource: known(({ urn, type, props }, report) => {
    if (!type.startsWith("kubernetes:")) return;
    const stack = /^urn:pulumi:([^:]+)::/.exec(urn)?.[1] ?? "";
    const manifest: Manifest = props;
    if (WITHOUT_IMAGES.includes(stack) || manifest.spec?.replicas === 0) return;
    for (const { name = "", image = "" } of containersOf(manifest)) {
      if (BY_DIGEST.test(image)) continue;
      report(
        `container ${name}: image = ${image}: a tag can change under a running pod (repo@sha256:<64 hex>); set the ` +
          "workload's image in the stack file to its digest",
      );
    }
  }),
};
