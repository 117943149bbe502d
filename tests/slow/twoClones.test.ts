import { expect } from "chai";
import { appendFile, cp, mkdtemp, readdir, rm, symlink, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Victim } from "../attacks/victim.ts";
import { textOf } from "../support/devStack.ts";
import { pulumi, useLab } from "../support/lab.ts";
import { useRegistry } from "../support/registry.ts";

// What a preview must not depend on: the clone it runs in, a Docker engine, a registry.
describe("preview in another clone", function () {
  this.timeout(300_000);
  const lab = useLab("test-two-clones");
  const registry = useRegistry(1);
  let victim: Victim | undefined;
  let parent = "";
  before(async () => {
    parent = await mkdtemp(join(tmpdir(), "llm-serving-clones-"));
    victim = await Victim.on(lab());
  });
  after(async () => {
    await victim?.remove();
    await rm(parent, { recursive: true });
  });

  /** The clone that brought the stack up. */
  const first = (): Victim => {
    if (victim === undefined) throw new Error("the first clone is used before it is there");
    return victim;
  };
  const preview = (folder: string, env: Readonly<Record<string, string>> = {}) =>
    pulumi(lab(), ["preview", "--stack=dev", "--expect-no-changes"], { cwd: folder, env });

  /** A copy of the first clone at another path, every file of it as old as no other clone's. */
  async function secondClone(): Promise<string> {
    const folder = join(parent, "a", "longer", "path");
    await cp(first().folder, folder, {
      recursive: true,
      filter: (path) => !path.endsWith("node_modules"),
    });
    await symlink(join(first().folder, "node_modules"), join(folder, "node_modules"));
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    for (const entry of entries.filter((each) => each.isFile())) {
      await utimes(join(entry.parentPath, entry.name), 0, 1_000_000);
    }
    return folder;
  }

  it("E06: shows no change in a clone at another path with other file times, and an edit as one", async () => {
    const folder = await secondClone();
    const outcome = await preview(folder);
    expect(outcome.code, textOf(outcome)).to.equal(0);
    await appendFile(join(folder, "images", "clef-serve", "server.py"), "# edited\n");
    const edited = await preview(folder);
    expect(edited.code).not.to.equal(0);
    expect(textOf(edited)).to.match(/clef-serve-boot-[0-9a-f]{10}/);
  });

  it("E05: needs no Docker engine, and asks no registry anything", async () => {
    await first().edit({
      file: "Pulumi.dev.yaml",
      from: "    requireDigests: false\n",
      to: `    requireDigests: false\n    pull: ${registry().proxied}/llm\n    push: ${registry().proxied}/llm\n`,
    });
    const outcome = await preview(first().folder, { DOCKER_HOST: "tcp://127.0.0.1:1" });
    await first().undoEdits();
    expect(outcome.code, textOf(outcome)).to.equal(0);
    expect(await registry().requests()).to.deep.equal([]);
  });
});
