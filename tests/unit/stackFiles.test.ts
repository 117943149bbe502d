import { expect } from "chai";
import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { check, resolveConfig } from "prettier";
import { labPassphrase } from "../../lab/labFolder.ts";
import { resolveToolchain } from "../../lab/toolchain.ts";

const repository = resolve(import.meta.dirname, "..", "..");

// `pulumi config set` writes the whole file anew: what it would write otherwise would be in every edit's diff.
describe("the committed stack files", function () {
  this.timeout(60_000);
  let folder = "";
  let pulumi: (...args: readonly string[]) => Promise<unknown>;

  before(async () => {
    const { paths, binFolder } = await resolveToolchain();
    folder = await mkdtemp(join(tmpdir(), "llm-serving-test-"));
    await mkdir(join(folder, "state"));
    await copyFile(join(repository, "Pulumi.yaml"), join(folder, "Pulumi.yaml"));
    const env = {
      ...{ PATH: binFolder, HOME: folder, PULUMI_HOME: join(folder, "home") },
      PULUMI_BACKEND_URL: pathToFileURL(join(folder, "state")).href,
      // The one that the salt in Pulumi.dev.yaml belongs to.
      PULUMI_CONFIG_PASSPHRASE: labPassphrase,
      PULUMI_SKIP_UPDATE_CHECK: "true",
    };
    pulumi = (...args) => promisify(execFile)(paths.pulumi, args, { cwd: folder, env });
  });
  after(() => rm(folder, { recursive: true, force: true }));

  for (const stack of ["dev", "prod"]) {
    const name = `Pulumi.${stack}.yaml`;
    const text = (): Promise<string> => readFile(join(folder, name), "utf8");

    it(`${name}: \`pulumi config set\` changes the line of its key alone, and prettier has no word on it`, async () => {
      await copyFile(join(repository, name), join(folder, name));
      await pulumi("stack", "init", stack, "--no-select");
      // A new stack's salt is appended where the file has none yet.
      const committed = await readFile(join(repository, name), "utf8");
      const made = await text();
      expect(made.replace(/^encryptionsalt: .*\n/m, "")).to.equal(
        committed.replace(/^encryptionsalt: .*\n/m, ""),
      );

      await pulumi(
        "config",
        "set",
        "--path",
        "llm-serving:gpuNodes[0].cards",
        "7",
        "--stack",
        stack,
      );
      expect(await text()).to.equal(made.replace("cards: 4\n", "cards: 7\n"));
      const key = "llm-serving:candleVllm.model.source.gguf";
      await pulumi("config", "set", "--path", key, "/models/other.gguf", "--stack", stack);
      const edited = await text();
      expect(edited).to.equal(
        made
          .replace("cards: 4\n", "cards: 7\n")
          .replace("/models/coder.gguf", "/models/other.gguf"),
      );

      const options = await resolveConfig(join(repository, name));
      expect(await check(edited, { ...options, filepath: name })).to.equal(true);
      expect(
        await check(edited.replace("{gguf", "{ gguf"), { ...options, filepath: name }),
      ).to.equal(false);
    });
  }
});
