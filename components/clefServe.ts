import { createHash } from "node:crypto";
import * as pulumi from "@pulumi/pulumi";
import type { Deployment } from "@pulumi/kubernetes/apps/v1/deployment.js";
import { ConfigMap } from "@pulumi/kubernetes/core/v1/configMap.js";
import { Service } from "@pulumi/kubernetes/core/v1/service.js";
import type { WorkloadArgs } from "./gpuDeployment.ts";
import { gpuDeployment, HOME } from "./gpuDeployment.ts";
import {
  ASSIGNED_BY_CLUSTER,
  CLEF_SERVE,
  CONTAINER_PORT,
  labelsOf,
  NAMESPACE,
  NOT_AWAITED_BY_PROVIDER,
  ownershipAnnotations,
} from "./names.ts";

/** Arguments of {@link ClefServe}. */
export interface ClefServeArgs extends WorkloadArgs {
  /** Files of the boot, name to content: at least `requirements.txt` and `server.py`. */
  readonly bootFiles: Readonly<Record<string, string>>;
}

const BOOT_FOLDER = "/bootstrap";
const PACKAGES = `${HOME}/packages`;

/**
 * clef-serve on one card and the Service that the gateway's route addresses. It installs its packages at
 * each boot, about four minutes, because its image's layers are larger than the registry's proxy lets through.
 */
export class ClefServe extends pulumi.ComponentResource {
  readonly deployment: Deployment;

  constructor(name: string, args: ClefServeArgs, opts?: pulumi.ComponentResourceOptions) {
    super("llm-serving:index:ClefServe", name, {}, opts);
    const files = bootConfigMap(args, { parent: this });
    this.deployment = gpuDeployment(
      name,
      {
        workload: args,
        cards: 1,
        command: ["/bin/sh", "-c"],
        // exec: the server becomes PID 1 and gets SIGTERM itself.
        args: [
          `pip install --no-cache-dir --target ${PACKAGES} -r ${BOOT_FOLDER}/requirements.txt ` +
            `&& exec python ${BOOT_FOLDER}/server.py`,
        ],
        env: [
          { name: "PORT", value: String(CONTAINER_PORT) },
          { name: "PYTHONPATH", value: PACKAGES },
          { name: "HF_HOME", value: `${HOME}/huggingface` },
        ],
        readyPath: "/health",
        livePath: "/health",
        volumes: [{ name: "bootstrap", configMap: { name: files.name } }],
        volumeMounts: [{ name: "bootstrap", mountPath: BOOT_FOLDER, readOnly: true }],
      },
      { parent: this, dependsOn: [files.configMap] },
    );
    new Service(
      CLEF_SERVE,
      {
        metadata: {
          name: CLEF_SERVE,
          namespace: NAMESPACE,
          labels: labelsOf(CLEF_SERVE),
          annotations: { ...ownershipAnnotations(args.stack), ...NOT_AWAITED_BY_PROVIDER },
        },
        spec: {
          type: "ClusterIP",
          selector: { app: name },
          ports: [{ name: "http", protocol: "TCP", port: 80, targetPort: CONTAINER_PORT }],
        },
      },
      { parent: this, ignoreChanges: ASSIGNED_BY_CLUSTER },
    );
    this.registerOutputs({});
  }
}

/**
 * Name of the ConfigMap of the boot files. It carries the content's hash, so that an edit makes a new one and
 * the name that a running pod refers to is never missing.
 */
export function bootConfigMapName(bootFiles: ClefServeArgs["bootFiles"]): string {
  const hash = createHash("sha256").update(JSON.stringify(bootFiles)).digest("hex");
  return `${CLEF_SERVE}-boot-${hash.slice(0, 10)}`;
}

function bootConfigMap(
  args: ClefServeArgs,
  opts: pulumi.CustomResourceOptions,
): { name: string; configMap: ConfigMap } {
  const name = bootConfigMapName(args.bootFiles);
  const configMap = new ConfigMap(
    name,
    {
      metadata: {
        name,
        namespace: NAMESPACE,
        labels: labelsOf(CLEF_SERVE),
        annotations: ownershipAnnotations(args.stack),
      },
      immutable: true,
      data: { ...args.bootFiles },
    },
    opts,
  );
  return { name, configMap };
}
