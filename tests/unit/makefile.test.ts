import { expect } from "chai";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const repository = resolve(import.meta.dirname, "..", "..");

/** Runs make as a person does, but installs no packages. */
function make(...args: readonly string[]) {
  const all = ["--old-file=node_modules/.package-lock.json", ...args];
  // Not as a part of `make test`, which would add its own lines.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^M(AKE|FLAGS)/.test(name)),
  );
  return spawnSync("make", all, { cwd: repository, encoding: "utf8", env });
}

describe("make", function () {
  this.timeout(60_000);
  const recipes = readFileSync(join(repository, "Makefile"), "utf8").match(/^\t.*/gm) ?? [];

  it("hands every value of a person to the shell in quotes", () => {
    // The condition of an $(if) is make's own and reaches no shell.
    const values = recipes.flatMap((line) =>
      [...line.matchAll(/(if |no,)?'?\$\((?!MAKEFILE_LIST)[A-Z]+\)'?/g)].flatMap(
        ([value, condition]) => (condition === undefined ? [value] : []),
      ),
    );
    expect(values).to.have.length.greaterThan(10);
    expect(values.filter((value) => !/^'.*'$/.test(value))).to.deep.equal([]);
  });

  it("takes a command in such a value for a name", () => {
    const { status, stdout, stderr } = make("--silent", "rehearse", "STACK=dev; echo ran");
    expect([status, stdout]).to.deep.equal([2, ""]);
    expect(stderr).to.match(/^STACK = dev; echo ran: there is no Pulumi\.dev; echo ran\.yaml \(/);
  });

  for (const target of ["preview", "review", "rehearse", "drift", "adopt-plan", "image", "recover"])
    it(`${target} takes no stack for granted that is not named`, () => {
      const { status, stdout, stderr } = make("--silent", target, "STACK=");
      expect([status, stdout]).to.deep.equal([2, ""]);
      const [said, ...rest] = stderr.trim().split("\n");
      expect(said).to.equal("STACK = : no stack is named (dev | prod); set STACK=dev");
      // What make itself says of a command that failed.
      expect(rest.every((line) => line.startsWith("make: "))).to.equal(true);
    });

  it("lab-stop says that there is no lab of a name, and leaves nothing of it", () => {
    const name = "no-such-lab";
    const { status, stdout } = make("--silent", "lab-stop", `NAME=${name}`);
    expect([status, stdout]).to.deep.equal([
      0,
      `lab ${name}: there is no lab of that name, nothing was done\n`,
    ]);
    const labs = join(repository, ".lab");
    const files = existsSync(labs) ? readdirSync(labs) : [];
    expect(files.filter((file) => file.includes(name))).to.deep.equal([]);
  });

  it("names the stacks that there are where one has no file, and takes no base for granted", () => {
    expect(make("--silent", "preview", "STACK=nope").stderr).to.match(
      /^STACK = nope: there is no Pulumi\.nope\.yaml \(dev \| prod\); set STACK=dev\n/,
    );
    for (const target of ["review", "rehearse"]) {
      expect(make("--silent", target, "BASE=").stderr).to.match(/^BASE = : .*\n/);
    }
  });
});
