// Names, paths and texts of a lab's folder; no processes here.
import { createHash } from "node:crypto";
import { basename, delimiter, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

/** Name of the kubeconfig context of every lab, so that one Pulumi.dev.yaml fits all of them. */
export const labContext = "llm-lab";

/** Label of namespace kube-system by which `cluster.lab: true` knows a lab; its value is a name. */
export const labMark = "llm-serving/lab";

/** Passphrase of the stacks in a lab's backend: a lab holds no secret. */
export const labPassphrase = "lab";

/** Paths inside a lab's folder, all absolute. */
export interface LabPaths {
  readonly folder: string;
  readonly kubeconfig: string;
  /** kwokctl's folder of the cluster: certificates, etcd data, logs. */
  readonly cluster: string;
  /** What kwokctl reads: its own options and the stages. */
  readonly clusterConfig: string;
  /** Pulumi's file backend. */
  readonly state: string;
  /** The file to source. */
  readonly env: string;
  /** Written last: a folder without it was never finished. */
  readonly record: string;
}

/** The paths of the lab in `folder`. */
export function labPaths(folder: string): LabPaths {
  return {
    folder,
    kubeconfig: join(folder, "kubeconfig"),
    // kwokctl's place under its home, which is the lab's folder.
    cluster: join(folder, ".kwok", "clusters", "lab"),
    clusterConfig: join(folder, "kwokctl.yaml"),
    state: join(folder, "state"),
    env: join(folder, "env"),
    record: join(folder, "lab.json"),
  };
}

/**
 * @returns `name`, when it is a DNS label
 * @throws Error otherwise
 */
export function checkedLabName(name: string): string {
  if (/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name)) return name;
  throw new Error(
    `name = ${name}: not a name for a lab (a DNS label: 1 to 63 of a-z, 0-9 and -); set NAME=llm-lab`,
  );
}

/** What, apart from PATH, makes pulumi and kubectl use the lab and nothing of the user's. */
export function labVariables(paths: LabPaths, pulumiHome: string): Record<string, string> {
  return {
    KUBECONFIG: paths.kubeconfig,
    PULUMI_BACKEND_URL: pathToFileURL(paths.state).href,
    PULUMI_HOME: pulumiHome,
    PULUMI_CONFIG_PASSPHRASE: labPassphrase,
    PULUMI_SKIP_UPDATE_CHECK: "true",
  };
}

/**
 * The lab whose state a Pulumi backend is, as its env file sets it.
 * @param backend value of PULUMI_BACKEND_URL
 * @param root folder of all labs, as a real path
 * @returns its name; undefined for every other backend
 */
export function labOfBackend(backend: string | undefined, root: string): string | undefined {
  if (backend === undefined) return undefined;
  const name = basename(dirname(backend));
  return backend === pathToFileURL(labPaths(join(root, name)).state).href ? name : undefined;
}

/** `path` with `prefix` in front, unless it already starts with it. */
export function prependedPath(prefix: readonly string[], path: string | undefined): string {
  const start = prefix.join(delimiter);
  if (path === undefined || path === "") return start;
  return `${path}${delimiter}`.startsWith(`${start}${delimiter}`)
    ? path
    : `${start}${delimiter}${path}`;
}

/** Text of the env file for sh; sourcing it again changes nothing more. */
export function envFileText(
  prefix: readonly string[],
  variables: Readonly<Record<string, string>>,
): string {
  const start = shellQuoted(prefix.join(delimiter));
  return [
    "# Source this file: pulumi and kubectl then use this lab. Written by `make lab`.",
    `case "$PATH:" in ${start}:*) ;; *) PATH=${start}:"$PATH" ;; esac`,
    "export PATH",
    ...Object.entries(variables).map(([name, value]) => `export ${name}=${shellQuoted(value)}`),
    "",
  ].join("\n");
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** What a kubeconfig of a lab is made of; certificates and key as PEM text. */
export interface KubeconfigParts {
  readonly port: number;
  readonly ca: Buffer;
  readonly certificate: Buffer;
  readonly key: Buffer;
}

/** Text of a kubeconfig with one context, `llm-lab`, and its certificates inside. */
export function kubeconfigText(parts: KubeconfigParts): string {
  const user = {
    "client-certificate-data": parts.certificate.toString("base64"),
    "client-key-data": parts.key.toString("base64"),
  };
  const cluster = {
    server: `https://127.0.0.1:${parts.port}`,
    "certificate-authority-data": parts.ca.toString("base64"),
  };
  // JSON is YAML.
  return `${JSON.stringify(
    {
      apiVersion: "v1",
      kind: "Config",
      "current-context": labContext,
      clusters: [{ name: labContext, cluster }],
      users: [{ name: labContext, user }],
      contexts: [{ name: labContext, context: { cluster: labContext, user: labContext } }],
    },
    undefined,
    2,
  )}\n`;
}

/** What a finished lab was made with; a start that asks for anything else rebuilds it. */
export interface LabRecord {
  /** Digest of the options and of the binaries. */
  readonly fingerprint: string;
  /** uid of namespace kube-system. */
  readonly clusterUid: string;
  readonly apiServerPort: number;
}

/** Digest of anything that JSON can hold. */
export function fingerprintOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}

/** The record in `text`, or undefined when it is none (half-written, by hand). */
export function parsedRecord(text: string): LabRecord | undefined {
  try {
    const record = JSON.parse(text) as Partial<LabRecord> | null;
    const { fingerprint, clusterUid, apiServerPort } = record ?? {};
    return typeof fingerprint === "string" &&
      typeof clusterUid === "string" &&
      typeof apiServerPort === "number"
      ? { fingerprint, clusterUid, apiServerPort }
      : undefined;
  } catch {
    return undefined;
  }
}
