// The binaries behind the lab and the preview: which ones, from where, and how they come to be there.
// `node lab/toolchain.ts` makes them available; `node lab/toolchain.ts versions` only looks.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { build } from "./toolchain/build.ts";
import { cachedPaths, cacheRoot } from "./toolchain/cache.ts";
import { diagnoseWrite, ToolchainError } from "./toolchain/failure.ts";
import { makeBinFolder, makePulumiHome } from "./toolchain/folders.ts";
import { findInstalled } from "./toolchain/installed.ts";
import {
  binaryNames,
  labTools,
  pins,
  toolsOnDemand,
  type BinaryName,
  type LabTool,
} from "./toolchain/pins.ts";
import { createProgress, outputFor } from "./toolchain/progress.ts";

export { ToolchainError } from "./toolchain/failure.ts";
export type { BinaryName } from "./toolchain/pins.ts";

/** Where the tools are. All paths are absolute. */
export interface Toolchain {
  readonly paths: Readonly<Record<LabTool, string>>;
  /**
   * Folder to put first on PATH: holds pulumi, kubectl, kwokctl and, only where the official one is
   * absent, the stand-in for pulumi-language-nodejs.
   */
  readonly binFolder: string;
  /** Value for PULUMI_HOME; its plugins folder holds the Kubernetes provider. Never the user's own. */
  readonly pulumiHome: string;
}

/** What is there of these without building anything. */
async function look(env: NodeJS.ProcessEnv, names: readonly BinaryName[]) {
  const root = cacheRoot(env);
  const cached = cachedPaths(root);
  const installed = await findInstalled(env, root, names);
  const missing = names.filter(
    (name) => installed[name] === undefined && !existsSync(cached[name]),
  );
  return { root, cached, installed, missing };
}

/** Where progress of a build goes: line by line to `log`; without it, to stderr. */
interface ResolveOptions {
  readonly log?: (line: string) => void;
}

/** Looks, and builds what is missing. */
async function obtain(names: readonly BinaryName[], { log }: ResolveOptions) {
  const { env } = process;
  const { root, cached, installed, missing } = await look(env, names);
  if (missing.length > 0) {
    const progress = createProgress(outputFor(log));
    progress.line(
      `${missing.length} of ${names.length} tools are missing and are built once into ${root}`,
    );
    await build(missing, { env, root, targets: cached, progress });
  }
  return { root, installed, paths: { ...cached, ...installed } };
}

/**
 * Finds or builds single tools that the lab itself does not need: seconds to 2 minutes each on two cores.
 * @returns absolute paths
 * @throws ToolchainError with the cause and the next command
 */
export async function resolveTools<Name extends BinaryName>(
  names: readonly Name[],
  options: ResolveOptions = {},
): Promise<Readonly<Record<Name, string>>> {
  return (await obtain(names, options)).paths;
}

/**
 * Finds each binary of the lab: an installed one that fits, else the project's cache, else a build from its
 * pinned Go module, which takes up to 25 minutes for all on two cores. Interrupted during a build, the
 * process ends with exit code 130.
 * @throws ToolchainError with the cause and the next command
 */
export async function resolveToolchain(options: ResolveOptions = {}): Promise<Toolchain> {
  const { root, installed, paths } = await obtain(labTools, options);
  try {
    const needsHost = installed.pulumi === undefined;
    const binFolder = makeBinFolder(root, paths, needsHost);
    return {
      paths: needsHost ? { ...paths, pulumi: join(binFolder, "pulumi") } : paths,
      binFolder,
      pulumiHome: makePulumiHome(root, paths["pulumi-resource-kubernetes"]),
    };
  } catch (error) {
    const { cause, fix } = diagnoseWrite(error, root);
    throw new ToolchainError(`${cause}; ${fix}`);
  }
}

/** One line per binary: name, pinned version, where it comes from, path. */
async function describeTools(): Promise<string> {
  const { cached, installed, missing } = await look(process.env, binaryNames);
  const later = new Set<BinaryName>(toolsOnDemand);
  const rows = binaryNames.map((name) => {
    const { version, laterFits } = pins[name];
    const path = installed[name];
    const absent = later.has(name) ? "on demand" : "missing";
    const source = path !== undefined ? "installed" : missing.includes(name) ? absent : "built";
    return [name, laterFits ? `>= ${version}` : version, source, path ?? cached[name]] as const;
  });
  return rows
    .map(([name, version, source, path]) =>
      [name.padEnd(27), version.padEnd(12), source.padEnd(10), path].join(" "),
    )
    .join("\n");
}

async function main(args: readonly string[]): Promise<number> {
  const [command, ...rest] = args;
  if (rest.length > 0 || (command !== undefined && command !== "versions")) {
    console.error(`usage: node lab/toolchain.ts [versions]`);
    return 2;
  }
  try {
    if (command === undefined) await resolveToolchain();
    console.log(await describeTools());
    return 0;
  } catch (error) {
    if (!(error instanceof ToolchainError)) throw error;
    console.error(error.message);
    return 1;
  }
}

if (import.meta.main) process.exitCode = await main(process.argv.slice(2));
