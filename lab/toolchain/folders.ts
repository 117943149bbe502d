import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { shortHash } from "./cache.ts";
import { hasCode } from "./failure.ts";
import { providerPluginFolder, type LabTool } from "./pins.ts";

const hostSource = join(import.meta.dirname, "..", "languageHost", "languageHost.ts");

/**
 * Starts the language host stand-in. The CLI starts it in the program's folder, whose own Node comes
 * first; the compile cache saves a third of the start-up of the host and of the program.
 */
const hostLauncher = `#!/bin/sh
node=node_modules/.bin/node
[ -x "$node" ] || node=node
here=\${0%/*}
NODE_COMPILE_CACHE=\${NODE_COMPILE_CACHE:-$here/../compiled} exec "$node" "$here/languageHost.mts" "$@"
`;

/**
 * A folder for the front of PATH: pulumi, kubectl and kwokctl, and the language host stand-in where the
 * CLI comes without its own. Each choice of tools has a folder of its own, complete from the start.
 */
export function makeBinFolder(
  root: string,
  paths: Readonly<Record<LabTool, string>>,
  needsHost: boolean,
): string {
  const links = ["pulumi", "kubectl", "kwokctl"] as const;
  const host = needsHost ? [readFileSync(hostSource, "utf8"), hostLauncher] : [];
  const key = shortHash([String(needsHost), ...links.map((name) => paths[name]), ...host]);
  const folder = join(root, `bin-${key}`);
  if (existsSync(folder)) return folder;

  const temporary = `${folder}.${process.pid}`;
  try {
    mkdirSync(temporary, { recursive: true });
    for (const name of links) {
      if (needsHost && name === "pulumi") placeFile(paths[name], join(temporary, name));
      else symlinkSync(paths[name], join(temporary, name));
    }
    if (needsHost) {
      copyFileSync(hostSource, join(temporary, "languageHost.mts"));
      writeFileSync(join(temporary, "pulumi-language-nodejs"), hostLauncher);
      chmodSync(join(temporary, "pulumi-language-nodejs"), 0o755);
    }
    renameSync(temporary, folder);
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true });
    // Another clone was faster: the key says that its folder is the same.
    if (!hasCode(error, "ENOTEMPTY") && !hasCode(error, "EEXIST")) throw error;
  }
  return folder;
}

/**
 * Puts the CLI itself beside the host, as a second name of the same file: it follows symbolic links, and
 * warns at every run about a host that it finds on PATH only.
 */
function placeFile(source: string, target: string): void {
  try {
    linkSync(source, target);
  } catch (error) {
    // Another file system, or one without hard links.
    if (!hasCode(error, "EXDEV") && !hasCode(error, "EPERM") && !hasCode(error, "ENOTSUP")) {
      throw error;
    }
    copyFileSync(source, target);
  }
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

/**
 * A PULUMI_HOME that is the project's own, with the provider as an installed plugin: found on PATH
 * instead, it would give a warning at every run.
 */
export function makePulumiHome(root: string, provider: string): string {
  const home = join(root, "pulumi-home");
  const plugin = join(home, "plugins", providerPluginFolder, "pulumi-resource-kubernetes");
  if (linkTarget(plugin) === provider) return home;
  mkdirSync(dirname(plugin), { recursive: true });
  const temporary = `${plugin}.${process.pid}`;
  rmSync(temporary, { force: true });
  symlinkSync(provider, temporary);
  renameSync(temporary, plugin);
  return home;
}
