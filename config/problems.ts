import type { Field, Path } from "./fields.ts";
import { sampleYaml } from "./fields.ts";
import { PROJECT } from "./schema.ts";
import { HIDDEN, isSecretName, isSecretValue, withoutPassword } from "./secrets.ts";
import { stackFile } from "./stackFile.ts";

/** One thing that is wrong with a stack's configuration. */
export interface Problem {
  /** Full key, such as `llm-serving:candleVllm.replicas`. */
  readonly key: string;
  /** `<key> = <value>: <what is wrong> (<allowed>); <what to do>`, without secrets. */
  readonly line: string;
}

/** Every problem of a stack's configuration at once. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  /** At least one, in the order of the schema. */
  readonly problems: readonly Problem[];

  /**
   * @param problems at least one
   * @param stack name of the stack, for the headline
   */
  constructor(problems: readonly Problem[], stack: string) {
    const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
    const lines = problems.map((problem) => `  ${problem.line}`);
    super([`${stackFile(stack)}: ${count}, nothing was changed.`, ...lines].join("\n"));
    this.problems = problems;
  }
}

const PLAIN_SEGMENT = /^[A-Za-z_][\w-]*$/;
/** What `--path` takes between double quotes without an escape. */
const SAYABLE_SEGMENT = /^[^"\\\p{C}]{1,60}$/u;
const PRINTABLE = /^\P{C}+$/u;
const LONGEST_SHOWN = 80;

const clip = (text: string): string =>
  text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}...` : text;

/** A path as the CLI's `--path` spells it: `llm-serving:gpuNodes[0].cards`. */
export function keyOf(path: Path): string {
  return clip(spelled(path));
}

function spelled(path: Path): string {
  const parts = path.map((segment, at) => {
    if (typeof segment === "number") return `[${segment}]`;
    if (isSecretValue(segment)) return `[${HIDDEN}]`;
    if (at === 0) return PRINTABLE.test(segment) ? segment : JSON.stringify(segment);
    if (PLAIN_SEGMENT.test(segment)) return `.${segment}`;
    return `[${JSON.stringify(segment)}]`;
  });
  return `${PROJECT}:${parts.join("")}`;
}

/** A word for the shell, quoted where it has to be. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** The value as a message shows it: raw, on one line, clipped, never a secret. */
export function shown(path: Path, value: unknown): string {
  if (value === undefined) return "(not set)";
  if (Array.isArray(value)) return `(a list of ${value.length})`;
  if (typeof value === "object" && value !== null) return "(a map)";
  if (path.some((segment) => typeof segment === "string" && isSecretName(segment))) {
    return HIDDEN;
  }
  if (typeof value === "string") {
    return isSecretValue(value) ? HIDDEN : clip(JSON.stringify(withoutPassword(value)));
  }
  return typeof value === "bigint" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : value === null
      ? "null"
      : `(a ${typeof value})`;
}

/** The commands and edits that a message can propose for one stack. */
export class Remedies {
  readonly #stack: string;

  constructor(stack: string) {
    this.#stack = stack;
  }

  /** The stack's file. */
  get file(): string {
    return stackFile(this.#stack);
  }

  /**
   * The command that sets a value. The CLI stores unquoted what looks like an integer or boolean,
   * but keeps the quotes around a value that it replaces: such a value has to go first.
   *
   * @param old the value that stands there now
   */
  set(path: Path, value: string | number | boolean, old?: unknown): string {
    if (typeof old === "string" && typeof value !== "string") {
      return `${this.remove(path)} && ${this.set(path, value).replace("run: ", "")}`;
    }
    const misread = typeof value === "string" && /^([+-]?\d+|true|false)$/i.test(value);
    const broken = typeof value === "number" && !Number.isInteger(value);
    const type = misread ? " --type string" : broken ? " --type float" : "";
    return this.setShell(path, `${shellWord(String(value))}${type}`);
  }

  /** Like {@link set}, with a value that is written in shell. */
  setShell(path: Path, words: string): string {
    return this.#command("set", path, ` ${words}`);
  }

  /** The command that removes a key. */
  remove(path: Path): string {
    const sayable = path.every(
      (segment) =>
        typeof segment === "number" || (SAYABLE_SEGMENT.test(segment) && !isSecretValue(segment)),
    );
    return sayable ? this.#command("rm", path, "") : `remove it from ${this.file}`;
  }

  /** The command that encrypts another program's value; it asks for the value, so that no shell keeps it. */
  encrypt(key: string): string {
    return `run: pulumi config set --secret ${shellWord(key)} --stack ${shellWord(this.#stack)}`;
  }

  /** The edit that writes a map or list, which no command does at once. */
  write(path: Path, field: Field): string {
    const sample = sampleYaml(field);
    const last = path.at(-1);
    if (path.length === 1) return `write ${keyOf(path)}: ${sample} under config in ${this.file}`;
    return typeof last === "number"
      ? `write ${sample} at ${keyOf(path)} in ${this.file}`
      : `write ${last ?? ""}: ${sample} at ${keyOf(path.slice(0, -1))} in ${this.file}`;
  }

  #command(verb: "set" | "rm", path: Path, words: string): string {
    // A key of the top level is named as it is: with --path, dots in it would mean maps.
    const flag = path.length > 1 ? " --path" : "";
    const key = `'${spelled(path).replaceAll("'", "'\\''")}'`;
    return `run: pulumi config ${verb}${flag} ${key}${words} --stack ${shellWord(this.#stack)}`;
  }
}
