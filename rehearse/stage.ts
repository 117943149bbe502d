import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { NAMESPACE } from "../components/names.ts";
import type { Lab } from "../lab/lab.ts";
import { repository } from "../lab/labLifecycle.ts";
import { run } from "../lab/run.ts";

/** What an `up` did. */
export interface UpResult {
  /** The CLI's exit code; undefined when it was interrupted. */
  readonly code: number | undefined;
  /** Everything that it printed. */
  readonly output: string;
}

/** A running `up`. */
export interface Up {
  readonly result: Promise<UpResult>;
  /** Ends it as Ctrl-C does; it stops in its own time. */
  readonly interrupt: () => void;
}

/** A stack on a lab: the real CLI runs today's program with stack files of our own. */
export class Stage {
  readonly kubeConfig = new KubeConfig();
  readonly #lab: Lab;
  readonly #stack: string;
  readonly #folder: string;
  readonly #signal: AbortSignal;

  private constructor(lab: Lab, stack: string, folder: string, signal: AbortSignal) {
    this.#lab = lab;
    this.#stack = stack;
    this.#folder = folder;
    this.#signal = signal;
    this.kubeConfig.loadFromFile(lab.kubeconfig);
  }

  /**
   * Makes the stack in the lab's backend, beside a copy of Pulumi.yaml: `stack init` writes into the stack file.
   * A lab comes with stack dev.
   */
  static async open(lab: Lab, stack: string, signal: AbortSignal): Promise<Stage> {
    const folder = await mkdtemp(join(lab.folder, "stage-"));
    await copyFile(join(repository, "Pulumi.yaml"), join(folder, "Pulumi.yaml"));
    const stage = new Stage(lab, stack, folder, signal);
    if (stack !== "dev") {
      const init = ["stack", "init", stack, "--no-select", "--non-interactive", `--cwd=${folder}`];
      await run("pulumi", init, lab.env, signal);
    }
    return stage;
  }

  /**
   * Applies a stack file.
   * @param text of the stack file
   * @param args further arguments, such as `--parallel=1`
   */
  async up(text: string, args: readonly string[] = []): Promise<Up> {
    const file = join(this.#folder, "stack.yaml");
    await writeFile(file, text);
    const child = spawn(
      "pulumi",
      [
        ...["up", "--yes", "--skip-preview", "--non-interactive", "--color=never"],
        ...[`--stack=${this.#stack}`, `--config-file=${file}`, ...args],
      ],
      { cwd: repository, env: this.#lab.env, stdio: "pipe", signal: this.#signal },
    );
    return {
      result: resultOf(child),
      interrupt: () => {
        child.kill("SIGINT");
      },
    };
  }

  /** Creates objects in namespace llm-serving as soon as it exists. */
  async createInNamespace(manifests: readonly object[]): Promise<void> {
    if (manifests.length === 0) return;
    await this.kubectl(["wait", "--for=create", `namespace/${NAMESPACE}`, "--timeout=60s"]);
    const list = { apiVersion: "v1", kind: "List", items: manifests };
    await this.kubectl(["create", "--filename=-"], JSON.stringify(list));
  }

  /**
   * Runs kubectl on the lab.
   * @returns what it printed
   * @throws Error when it fails
   */
  async kubectl(args: readonly string[], input = ""): Promise<string> {
    return run("kubectl", args, this.#lab.env, this.#signal, input);
  }

  /** Removes the stage's files; the lab is its owner's. */
  async close(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

async function resultOf(child: ChildProcess): Promise<UpResult> {
  let output = "";
  const take = (text: string) => (output += text);
  child.stdout?.setEncoding("utf8").on("data", take);
  child.stderr?.setEncoding("utf8").on("data", take);
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  return { code: signal === null ? (code ?? undefined) : undefined, output };
}
