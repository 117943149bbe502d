import { execFile } from "node:child_process";
import { accessSync, constants, existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, isAbsolute, join, sep } from "node:path";
import { promisify } from "node:util";
import { binaryNames, pins, providerPluginFolder, type BinaryName, type Pin } from "./pins.ts";

const run = promisify(execFile);

/** Milliseconds that an installed tool may take to print its version; a slower one does not count. */
const askTimeoutMs = 5000;

/** Major, minor and patch of the first version in a tool's output, or undefined where there is none. */
export function parseVersion(text: string): readonly [number, number, number] | undefined {
  const match = /(?:^|[^\d.])v?(\d+)\.(\d+)\.(\d+)(-[\w.]+)?/.exec(text);
  // A pre-release (3.274.1-alpha.1) comes before the version whose name it carries.
  if (match === null || match[4] !== undefined) return undefined;
  return [Number(match[1]), Number(match[2]), Number(match[3])];
}

/** Whether an installed tool that prints `output` may be used for this pin. */
export function fits(pin: Pick<Pin, "version" | "laterFits">, output: string): boolean {
  const found = parseVersion(output);
  const wanted = parseVersion(pin.version);
  if (found === undefined || wanted === undefined) return false;
  const difference = found[0] - wanted[0] || found[1] - wanted[1] || found[2] - wanted[2];
  return pin.laterFits ? difference >= 0 : difference === 0;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Folders on PATH, without those inside the project's cache: what lies there is not installed. */
function searchFolders(env: NodeJS.ProcessEnv, root: string): readonly string[] {
  return (env.PATH ?? "")
    .split(delimiter)
    .filter((folder) => isAbsolute(folder) && !`${folder}${sep}`.startsWith(`${root}${sep}`));
}

/** Answers of tools asked before, by path, size and time of change: asking costs up to 0.2 s each. */
class VersionMemory {
  readonly #file: string;
  readonly #answers: Record<string, string>;
  #changed = false;

  constructor(root: string) {
    this.#file = join(root, "installed.json");
    try {
      this.#answers = JSON.parse(readFileSync(this.#file, "utf8")) as Record<string, string>;
    } catch {
      this.#answers = {};
    }
  }

  async ask(path: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
    const real = realpathSync(path);
    const { size, mtimeMs } = statSync(real);
    const key = `${real} ${size} ${mtimeMs}`;
    const known = this.#answers[key];
    if (known !== undefined) return known;
    const options = {
      timeout: askTimeoutMs,
      env: { ...env, PULUMI_SKIP_UPDATE_CHECK: "true" },
    };
    const answer = await run(path, args, options).then(
      ({ stdout }) => stdout.trim(),
      () => "",
    );
    this.#answers[key] = answer;
    this.#changed = true;
    return answer;
  }

  async save(): Promise<void> {
    if (!this.#changed) return;
    const temporary = `${this.#file}.${process.pid}`;
    try {
      await mkdir(dirname(this.#file), { recursive: true });
      await writeFile(temporary, JSON.stringify(this.#answers, null, 1));
      await rename(temporary, this.#file);
    } catch {
      // Only speed is lost: the tools are asked again next time.
    }
  }
}

/** The provider has no version option; the CLI's plugins folders name the version themselves. */
function findProvider(env: NodeJS.ProcessEnv, root: string): string | undefined {
  return [env.PULUMI_HOME, join(env.HOME ?? homedir(), ".pulumi")]
    .filter((home): home is string => home !== undefined && home !== "")
    .map((home) => join(home, "plugins", providerPluginFolder))
    .filter((folder) => !existsSync(`${folder}.partial`))
    .map((folder) => join(folder, "pulumi-resource-kubernetes"))
    .find((path) => isExecutable(path) && !realpathSync(path).startsWith(`${root}${sep}`));
}

/** Whether the CLI has its own Node.js language host: beside it, or on PATH. */
function hasLanguageHost(pulumi: string, folders: readonly string[]): boolean {
  return [dirname(pulumi), dirname(realpathSync(pulumi)), ...folders].some((folder) =>
    isExecutable(join(folder, "pulumi-language-nodejs")),
  );
}

/**
 * Installed tools that fit their pins, by name; what does not fit is left out.
 * @param root the project's cache, whose own binaries never count as installed
 * @param names what is searched for
 */
export async function findInstalled(
  env: NodeJS.ProcessEnv,
  root: string,
  names: readonly BinaryName[] = binaryNames,
): Promise<Partial<Record<BinaryName, string>>> {
  const memory = new VersionMemory(root);
  const folders = searchFolders(env, root);
  const found: Partial<Record<BinaryName, string>> = {};
  const search = async (name: BinaryName): Promise<void> => {
    const pin = pins[name];
    if (name === "pulumi-resource-kubernetes") {
      const provider = findProvider(env, root);
      if (provider !== undefined) found[name] = provider;
      return;
    }
    for (const path of folders.map((folder) => join(folder, name)).filter(isExecutable)) {
      if (name === "pulumi" && !hasLanguageHost(path, folders)) continue;
      if (!fits(pin, await memory.ask(path, pin.askVersion, env))) continue;
      found[name] = path;
      return;
    }
  };
  await Promise.all(names.map(search));
  await memory.save();
  return found;
}
