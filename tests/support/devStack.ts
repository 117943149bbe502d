import { expect } from "chai";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Lab } from "../../lab/lab.ts";
import { kubectl, type Outcome, pulumi } from "./lab.ts";
import { type StackCopy, stackCopy } from "./stackCopy.ts";

type Edits = Readonly<Record<string, unknown>>;
type Variables = Readonly<Record<string, string>>;

/** Runs of the dev stack on a lab, each with edits of the committed stack file. */
export interface DevStack {
  /** The stack file of the test that runs; a fresh copy in each. */
  readonly file: () => StackCopy;
  readonly run: (args: readonly string[], env?: Variables) => Promise<Outcome>;
  /** Applies edits. @throws AssertionError unless the update succeeds */
  readonly updated: (edits?: Edits, env?: Variables) => Promise<string>;
  /** Previews edits. @returns what it printed @throws AssertionError unless it exits with 0 */
  readonly accepted: (edits?: Edits, env?: Variables) => Promise<string>;
  /** Previews edits. @returns what it printed @throws AssertionError unless it is refused and changed nothing */
  readonly refused: (edits?: Edits, env?: Variables) => Promise<string>;
}

/** The dev stack for the tests of the enclosing `describe`. */
export function useDevStack(lab: () => Lab): DevStack {
  let copy: StackCopy | undefined;
  const file = () => (copy ??= stackCopy("dev"));
  afterEach(() => {
    copy?.remove();
    copy = undefined;
  });
  const run: DevStack["run"] = (args, env = {}) =>
    pulumi(lab(), [...args, "--stack=dev"], { configFile: file().path, env });
  const succeeded = async (args: readonly string[], edits: Edits, env?: Variables) => {
    file().edit(edits);
    const outcome = await run(args, env);
    expect(outcome.code, textOf(outcome)).to.equal(0);
    return textOf(outcome);
  };
  return {
    file,
    run,
    updated: (edits = {}, env) => succeeded(["up", "--yes", "--skip-preview"], edits, env),
    accepted: (edits = {}, env) => succeeded(["preview"], edits, env),
    refused: async (edits = {}, env) => {
      file().edit(edits);
      const before = await everything(lab(), file());
      const outcome = await run(["preview"], env);
      expect(outcome.code, textOf(outcome)).not.to.equal(0);
      expect(await everything(lab(), file())).to.deep.equal(before);
      expect(textOf(outcome)).not.to.match(/unhandled exception|at file:\/\//);
      return textOf(outcome);
    },
  };
}

/** All that a program printed. */
export function textOf({ stdout, stderr }: Outcome): string {
  return stdout + stderr;
}

/** Kind, name and resourceVersion of what the program and its neighbours have on a lab. */
export async function objectVersions(lab: Lab): Promise<string> {
  return kubectl(
    lab,
    "get",
    "namespaces,deployments,services,configmaps,pods,networkpolicies,persistentvolumeclaims,secrets",
    "--all-namespaces",
    "-o=jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.resourceVersion}{'\\n'}{end}",
  );
}

/** Everything that a refused preview must leave alone: state, files and objects. */
async function everything(lab: Lab, file: StackCopy): Promise<unknown> {
  const entries = await readdir(join(lab.folder, "state"), {
    recursive: true,
    withFileTypes: true,
  });
  const paths = entries.filter((entry) => entry.isFile()).map((e) => join(e.parentPath, e.name));
  const { stdout } = await pulumi(lab, ["stack", "export", "--stack=dev"]);
  return {
    exported: stdout,
    objects: await objectVersions(lab),
    files: await Promise.all(
      [file.path, ...paths.sort()].map(async (path) => [path, await readFile(path, "utf8")]),
    ),
  };
}
