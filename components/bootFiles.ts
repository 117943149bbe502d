import { createHash } from "node:crypto";
import type * as pulumi from "@pulumi/pulumi";
import { ConfigMap } from "@pulumi/kubernetes/core/v1/configMap.js";
import { CLEF_SERVE, labelsOf, NAMESPACE, ownershipAnnotations } from "./names.ts";

/** Files of clef-serve's start, name to content: at least `requirements.txt` and `server.py`. */
export type BootFiles = Readonly<Record<string, string>>;

/** Where the files lie in a container. */
export const BOOT_FOLDER = "/bootstrap";

/**
 * Name of the ConfigMap of the boot files. It carries the content's hash, so that an edit makes a new one and
 * the name that a running pod refers to is never missing.
 */
export function bootConfigMapName(files: BootFiles): string {
  const hash = createHash("sha256").update(JSON.stringify(files)).digest("hex");
  return `${CLEF_SERVE}-boot-${hash.slice(0, 10)}`;
}

/**
 * The ConfigMap of the boot files.
 * @param stack name of the owning stack
 */
export function bootConfigMap(
  stack: string,
  files: BootFiles,
  opts: pulumi.CustomResourceOptions,
): ConfigMap {
  const name = bootConfigMapName(files);
  return new ConfigMap(
    name,
    {
      metadata: {
        name,
        namespace: NAMESPACE,
        labels: labelsOf(CLEF_SERVE),
        annotations: ownershipAnnotations(stack),
      },
      immutable: true,
      data: { ...files },
    },
    opts,
  );
}
