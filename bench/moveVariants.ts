// Ways to apply the same edit of a stack file.
import { cp, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { repository } from "../lab/labLifecycle.ts";
import type { Lab } from "../lab/lab.ts";
import type { Up } from "../rehearse/stage.ts";
import { Stage } from "../rehearse/stage.ts";

/** One way: what it is called, and how it applies a stack file on its lab. */
export interface Variant {
  readonly name: string;
  /** Applies the text of a stack file on the lab. */
  readonly open: (lab: Lab, signal: AbortSignal) => Promise<(text: string) => Promise<Up>>;
}

const stack = "dev";

/** The program as it is. */
export const program: Variant = {
  name: "the program",
  open: async (lab, signal) => {
    const stage = await Stage.open(lab, { stack, signal });
    return (text) => stage.up(text);
  },
};

/**
 * The program with a part of one of its files replaced.
 * @param name what it is called
 * @param file of the program
 * @param from must be in the file
 */
export function changedProgram(name: string, file: string, from: RegExp, to: string): Variant {
  return {
    name,
    open: async (lab, signal) => {
      const folder = join(lab.folder, "program");
      await copyProgram(folder);
      const path = join(folder, file);
      const text = await readFile(path, "utf8");
      if (!from.test(text))
        throw new Error(`${file}: has no ${String(from)}; correct bench/moves.ts`);
      await writeFile(path, text.replace(from, to));
      const stage = await Stage.open(lab, { stack, signal, program: folder });
      return (stackText) => stage.up(stackText);
    },
  };
}

/** What the program needs to run: modules are found by their real path, so that links would lead back. */
async function copyProgram(folder: string): Promise<void> {
  const left = /^(\.|node_modules$|tests$|docs$|policy$|bench$)/;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  const names = (await readdir(repository)).filter((name) => !left.test(name));
  await Promise.all(
    names.map((name) => cp(join(repository, name), join(folder, name), { recursive: true })),
  );
  await symlink(join(repository, "node_modules"), join(folder, "node_modules"));
}

/** A Kubernetes object as a file states it. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels?: unknown;
  };
  readonly spec: Record<string, unknown>;
}

/**
 * `kubectl apply -k` of what the program renders, with the Deployments in the order of their files' names.
 * @param render applies a stack file by the program on a lab of its own
 * @returns the variant; it renders each stack file once
 */
export function kubectlApply(name: string, render: (text: string) => Promise<Manifest[]>): Variant {
  return {
    name,
    open: async (lab, signal) => {
      const stage = await Stage.open(lab, { stack, signal });
      const folders = new Map<string, string>();
      await stage.kubectl(["create", "namespace", "llm-serving"]);
      return async (text) => {
        const folder = folders.get(text) ?? join(lab.folder, `kustomize-${folders.size}`);
        if (!folders.has(text)) await writeManifests(folder, await render(text));
        folders.set(text, folder);
        const result = stage
          .kubectl(["apply", "-k", folder])
          .then((output) => ({ code: 0, output, facts: undefined }));
        return { result, interrupt: () => undefined };
      };
    },
  };
}

async function writeManifests(folder: string, manifests: readonly Manifest[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  const files = manifests.map(
    ({ kind, metadata }) => `${metadata.name}-${kind.toLowerCase()}.yaml`,
  );
  await Promise.all(
    // JSON is YAML.
    manifests.map((each, at) => writeFile(join(folder, files[at] ?? ""), JSON.stringify(each))),
  );
  const kustomization = {
    apiVersion: "kustomize.config.k8s.io/v1beta1",
    kind: "Kustomization",
    // Else kustomize sorts by kind.
    sortOptions: { order: "fifo" },
    resources: files.toSorted(),
  };
  await writeFile(join(folder, "kustomization.yaml"), JSON.stringify(kustomization));
}

/** Deployments and Services of a lab as somebody would have written them down. */
export async function manifestsOf(stage: Stage): Promise<Manifest[]> {
  const args = ["get", "deployments,services", "--namespace=llm-serving", "-o=json"];
  const { items } = JSON.parse(await stage.kubectl(args)) as {
    readonly items: readonly Manifest[];
  };
  return items.map(({ apiVersion, kind, metadata: { name, namespace, labels }, spec }) => {
    const stated = Object.entries(spec).filter(([key]) => !key.startsWith("clusterIP"));
    return {
      ...{ apiVersion, kind, metadata: { name, namespace, labels } },
      spec: Object.fromEntries(stated),
    };
  });
}
