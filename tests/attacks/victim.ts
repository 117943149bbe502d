// What attacks are made on: the dev stack on a lab, with a program and a stack file that may be edited.
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import type { Lab } from "../../lab/lab.ts";
import {
  clusterIdentityOf,
  kubectl,
  type Outcome,
  pulumi,
  runIn,
  type ServiceIdentity,
} from "../support/lab.ts";
import { errorsOf } from "./attempts.ts";

const repository = resolve(import.meta.dirname, "..", "..");

/** Not part of the program. */
const LEFT_OUT = new Set(["node_modules", ".git", ".lab"]);

/** One exact replacement in a file of the program. */
export interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export const NAMESPACE_FLAG = "--namespace=llm-serving";

/** URN of the Service in stack dev. */
export const SERVICE_URN =
  "urn:pulumi:dev::llm-serving::llm-serving:index:CoderPredictor$kubernetes:core/v1:Service::coder-predictor";

/** The dev stack of one lab, with a copy of the clone that attacks may edit. */
export class Victim {
  readonly lab: Lab;
  /** The copy of the clone; every command runs here. */
  readonly folder: string;
  readonly #originals = new Map<string, string>();
  #state = "";

  private constructor(lab: Lab, folder: string) {
    this.lab = lab;
    this.folder = folder;
  }

  /** Copies the clone and brings the stack up. The lab must be fresh; the caller calls `remove`. */
  static async on(lab: Lab): Promise<Victim> {
    const folder = await mkdtemp(join(tmpdir(), "llm-serving-attacks-"));
    await cp(repository, folder, {
      recursive: true,
      filter: (path) => !LEFT_OUT.has(basename(path)),
    });
    await symlink(join(repository, "node_modules"), join(folder, "node_modules"));
    const victim = new Victim(lab, folder);
    await victim.mustUp();
    victim.#state = await victim.exported();
    return victim;
  }

  /** Removes the copy. */
  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true });
  }

  /** uid and ClusterIP of the live Service; empty where it does not exist. */
  async identity(): Promise<ServiceIdentity> {
    try {
      return await clusterIdentityOf(this.lab, "coder-predictor");
    } catch {
      return { uid: "", clusterIP: "" };
    }
  }

  /** @throws Error when the text is not there exactly once: the attack would then be none */
  async edit({ file, from, to }: Edit): Promise<void> {
    const path = join(this.folder, file);
    const text = await readFile(path, "utf8");
    if (text.split(from).length !== 2) {
      throw new Error(`${file}: not exactly once in it: ${JSON.stringify(from)}`);
    }
    if (!this.#originals.has(path)) this.#originals.set(path, text);
    await writeFile(
      path,
      text.replace(from, () => to),
    );
  }

  /** Appends to a file of the program. */
  async append(file: string, text: string): Promise<void> {
    const path = join(this.folder, file);
    const original = await readFile(path, "utf8");
    if (!this.#originals.has(path)) this.#originals.set(path, original);
    await writeFile(path, original + text);
  }

  /** Undoes all edits. */
  async undoEdits(): Promise<void> {
    for (const [path, text] of this.#originals) await writeFile(path, text);
    this.#originals.clear();
  }

  /** Runs the CLI on stack dev, in the copy. */
  async pulumi(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    return pulumi(this.lab, [...args, "--stack=dev"], { cwd: this.folder, env });
  }

  async preview(...args: readonly string[]): Promise<Outcome> {
    return this.pulumi(["preview", ...args]);
  }

  /** As somebody does who does not look at the preview. */
  async up(...args: readonly string[]): Promise<Outcome> {
    return this.pulumi(["up", "--yes", "--skip-preview", ...args]);
  }

  /** @throws Error when it fails */
  async mustUp(...args: readonly string[]): Promise<void> {
    must(await this.up(...args), "pulumi up");
  }

  /** What a person runs after a crash. */
  async recover(): Promise<Outcome> {
    const args = ["recover/recover.ts", "--stack=dev", "--yes"];
    return runIn(this.lab, process.execPath, args, { cwd: this.folder });
  }

  async kubectl(...args: readonly string[]): Promise<Outcome> {
    return runIn(this.lab, "kubectl", args);
  }

  /** The state as `pulumi stack export` prints it. */
  async exported(): Promise<string> {
    return must(await this.pulumi(["stack", "export"]), "stack export").stdout;
  }

  /** Replaces the state. */
  async imported(state: string): Promise<void> {
    const file = join(this.folder, "state.json");
    await writeFile(file, state);
    must(await this.pulumi(["stack", "import", "--force", `--file=${file}`]), "stack import");
  }

  /** Loses the stack's state and starts with an empty one. */
  async forgetState(): Promise<void> {
    await rm(join(this.lab.folder, "state", ".pulumi"), { recursive: true, force: true });
    must(await this.pulumi(["stack", "init"]), "stack init");
  }

  /**
   * Puts the program, the state and the cluster back as they were before all attacks.
   * @throws Error when the stack does not come back in one `up`
   */
  async restore(): Promise<void> {
    await this.undoEdits();
    await this.imported(this.#state);
    await this.mustUp("--refresh");
    const strays = ["coder-predictor-2", "coder-predictor-renamed"];
    await kubectl(this.lab, "delete", "service", ...strays, NAMESPACE_FLAG, "--ignore-not-found");
  }
}

/** @throws Error with the output when a command failed */
export function must(outcome: Outcome, what: string): Outcome {
  if (outcome.code === 0) return outcome;
  throw new Error(`${what} failed (exit code ${outcome.code}): ${errorsOf(outcome)}`);
}
