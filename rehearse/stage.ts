import { type ChildProcess, spawn } from "node:child_process";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { NAMESPACE } from "../components/names.ts";
import { FACTS_FILE } from "../factsFile.ts";
import type { Lab } from "../lab/lab.ts";
import { repository } from "../lab/labLifecycle.ts";
import { run } from "../lab/run.ts";
import type { PreviewFacts } from "../previewFacts.ts";

/** What an `up` did. */
export interface UpResult {
  /** The CLI's exit code; undefined when it was interrupted. */
  readonly code: number | undefined;
  /** Everything that it printed. */
  readonly output: string;
  /** What its preview found; undefined without one, or when it did not come that far. */
  readonly facts: PreviewFacts | undefined;
}

/** What runs on a stage. */
export interface StageOptions {
  /** Name of the stack. */
  readonly stack: string;
  /** Folder of the program; default this clone. */
  readonly program?: string;
  /** Ends whatever is going on. */
  readonly signal: AbortSignal;
}

/** How an `up` is run. */
export interface UpOptions {
  /** Further arguments, such as `--parallel=1`. */
  readonly args?: readonly string[];
  /** With the preview that a person would look at first; default false. */
  readonly preview?: boolean;
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
  readonly #program: string;

  private constructor(lab: Lab, options: StageOptions, folder: string) {
    this.#lab = lab;
    this.#stack = options.stack;
    this.#signal = options.signal;
    this.#program = options.program ?? repository;
    this.#folder = folder;
    this.kubeConfig.loadFromFile(lab.kubeconfig);
  }

  /**
   * Makes the stack in the lab's backend, beside a copy of Pulumi.yaml: `stack init` writes into the stack file.
   * A lab comes with stack dev.
   */
  static async open(lab: Lab, options: StageOptions): Promise<Stage> {
    const { stack, signal } = options;
    const folder = await mkdtemp(join(lab.folder, "stage-"));
    await copyFile(join(repository, "Pulumi.yaml"), join(folder, "Pulumi.yaml"));
    const stage = new Stage(lab, options, folder);
    if (stack !== "dev") {
      const init = ["stack", "init", stack, "--no-select", "--non-interactive", `--cwd=${folder}`];
      await run("pulumi", init, lab.env, signal);
    }
    return stage;
  }

  /**
   * Applies a stack file.
   * @param text of the stack file
   */
  async up(text: string, { args = [], preview = false }: UpOptions = {}): Promise<Up> {
    const file = join(this.#folder, "stack.yaml");
    const facts = join(this.#folder, "facts.json");
    await Promise.all([writeFile(file, text), rm(facts, { force: true })]);
    const all = [
      ...["up", "--yes", "--non-interactive", "--color=never"],
      ...(preview ? [] : ["--skip-preview"]),
      ...[`--stack=${this.#stack}`, `--config-file=${file}`, ...args],
    ];
    const child = spawn("pulumi", all, {
      cwd: this.#program,
      env: {
        ...this.#lab.env,
        // The same program runs again and again: Node keeps what it has compiled, half a second each time.
        NODE_COMPILE_CACHE: join(this.#folder, "compile-cache"),
        ...(preview ? { [FACTS_FILE]: facts } : {}),
      },
      stdio: "pipe",
      // Ctrl-C reaches it from here alone, as the first of two would: at the second it gives up its plugins.
      ...{ detached: true, signal: this.#signal, killSignal: "SIGINT" },
    });
    return {
      result: resultOf(child, facts),
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

/** @throws AbortError when the stage's signal ended it, Error when it could not be started; in both cases once it is gone */
async function resultOf(child: ChildProcess, facts: string): Promise<UpResult> {
  let output = "";
  const take = (text: string) => (output += text);
  child.stdout?.setEncoding("utf8").on("data", take);
  child.stderr?.setEncoding("utf8").on("data", take);
  let failure: Error | undefined;
  child.on("error", (error) => (failure = error));
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) => {
    child.on("close", (...end) => {
      resolve(end);
    });
  });
  if (failure !== undefined) throw failure;
  const text = await readFile(facts, "utf8").catch(() => undefined);
  return {
    code: signal === null ? (code ?? undefined) : undefined,
    output,
    facts: text === undefined ? undefined : (JSON.parse(text) as PreviewFacts),
  };
}
