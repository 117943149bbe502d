// The binaries behind the lab and the preview: which ones, from where, and how they come to be there.
// `node lab/toolchain.ts` makes them available; `node lab/toolchain.ts versions` only looks.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { build } from "./toolchain/build.ts";
import { cachedPaths, cacheRoot } from "./toolchain/cache.ts";
import { diagnoseWrite, ToolchainError } from "./toolchain/failure.ts";
import { makeBinFolder, makePulumiHome } from "./toolchain/folders.ts";
import { findInstalled } from "./toolchain/installed.ts";
import { binaryNames, pins, type BinaryName } from "./toolchain/pins.ts";
import { createProgress, outputFor } from "./toolchain/progress.ts";

export { ToolchainError } from "./toolchain/failure.ts";
export type { BinaryName } from "./toolchain/pins.ts";

/** Where the tools are. All paths are absolute. */
export interface Toolchain {
  readonly paths: Readonly<Record<BinaryName, string>>;
  /**
   * Folder to put first on PATH: holds pulumi, kubectl, kwokctl and, only where the official one is
   * absent, the stand-in for pulumi-language-nodejs.
   */
  readonly binFolder: string;
  /** Value for PULUMI_HOME; its plugins folder holds the Kubernetes provider. Never the user's own. */
  readonly pulumiHome: string;
}

/** What is there without building anything. */
async function look(env: NodeJS.ProcessEnv) {
  const root = cacheRoot(env);
  const cached = cachedPaths(root);
  const installed = await findInstalled(env, root);
  const missing = binaryNames.filter(
    (name) => installed[name] === undefined && !existsSync(cached[name]),
  );
  return { root, cached, installed, missing };
}

/**
 * Finds each binary: an installed one that fits, else the project's cache, else a build from its pinned
 * Go module, which takes up to 25 minutes for all on two cores. Interrupted during a build, the process
 * ends with exit code 130.
 * @param options.log takes the progress line by line; without it, progress goes to stderr
 * @throws ToolchainError with the cause and the next command
 */
export async function resolveToolchain(
  options: { readonly log?: (line: string) => void } = {},
): Promise<Toolchain> {
  const { env } = process;
  const { root, cached, installed, missing } = await look(env);
  if (missing.length > 0) {
    const progress = createProgress(outputFor(options.log));
    progress.line(
      `${missing.length} of ${binaryNames.length} tools are missing and are built once into ${root}`,
    );
    await build(missing, { env, root, targets: cached, progress });
  }
  const paths = { ...cached, ...installed };
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
  const { cached, installed, missing } = await look(process.env);
  const rows = binaryNames.map((name) => {
    const { version, laterFits } = pins[name];
    const path = installed[name];
    const source = path !== undefined ? "installed" : missing.includes(name) ? "missing" : "built";
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
