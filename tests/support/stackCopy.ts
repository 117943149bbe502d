import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Document, parseDocument } from "yaml";

/** A value's place in a stack file below `config:`, such as ["llm-serving:clefServe", "replicas"]. */
type Edits = Readonly<Record<string, unknown>>;

/** A stack file of a test's own, which the CLI may write to: the clone's files stay as they are. */
export interface StackCopy {
  /** Absolute; for `--config-file`. */
  readonly path: string;
  /**
   * Sets values by their path, as `pulumi config set --path` names it without the project:
   * `{"clefServe.replicas": 0}`. The file is as committed but for all edits so far.
   */
  edit(edits: Edits): void;
  /** Removes the file. */
  remove(): void;
}

/** A copy of a committed stack file. */
export function stackCopy(stack: string): StackCopy {
  const folder = mkdtempSync(join(tmpdir(), "llm-serving-test-"));
  const path = join(folder, `Pulumi.${stack}.yaml`);
  const committed = resolve(import.meta.dirname, "..", "..", `Pulumi.${stack}.yaml`);
  const document: Document = parseDocument(readFileSync(committed, "utf8"));
  const write = (): void => {
    writeFileSync(path, document.toString());
  };
  write();
  return {
    path,
    edit(edits) {
      for (const [dotted, value] of Object.entries(edits)) {
        const [key = "", ...rest] = dotted.split(".");
        document.setIn(["config", `llm-serving:${key}`, ...rest], value);
      }
      write();
    },
    remove() {
      rmSync(folder, { recursive: true });
    },
  };
}
