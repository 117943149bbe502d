import { expect } from "chai";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findInstalled, fits, parseVersion } from "../../lab/toolchain/installed.ts";
import { pins } from "../../lab/toolchain/pins.ts";

function tool(folder: string, name: string, output: string): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\necho '${output}'\n`);
  chmodSync(path, 0o755);
  return path;
}

describe("toolchain: what is installed", () => {
  let folder: string;
  let root: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "installed-"));
    root = join(folder, "cache");
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  describe("version of an installed tool", () => {
    const outputs: readonly (readonly [string, readonly number[] | undefined])[] = [
      ["v3.274.1", [3, 274, 1]],
      ["Kubernetes v1.36.3", [1, 36, 3]],
      ["Client Version: v1.36.3\nKustomize Version: v5.8.1", [1, 36, 3]],
      ["etcd Version: 3.6.16\nGit SHA: Not provided", [3, 6, 16]],
      ["kwok version v0.8.0 go1.26.8 (linux/amd64)", [0, 8, 0]],
      ["v3.275.0-alpha.1", undefined],
      ["command not found", undefined],
    ];
    for (const [output, version] of outputs) {
      it(`reads ${version?.join(".") ?? "no version"} from "${output.split("\n")[0] ?? ""}"`, () => {
        expect(parseVersion(output)).to.deep.equal(version);
      });
    }

    it("takes the CLI from its pin on", () => {
      const versions = ["v3.274.0", "v3.274.1", "v3.274.2", "v3.300.0", "v2.999.9", "v4.0.0"];
      expect(versions.map((version) => fits(pins.pulumi, version))).to.deep.equal([
        false,
        true,
        true,
        true,
        false,
        true,
      ]);
    });

    it("takes the others only at their pin", () => {
      const versions = ["v1.36.2", "v1.36.3", "v1.36.4", "v1.37.3"];
      expect(versions.map((version) => fits(pins.kubectl, version))).to.deep.equal([
        false,
        true,
        false,
        false,
      ]);
    });
  });

  describe("search for installed tools", () => {
    it("takes the first on PATH that fits", async () => {
      const [a, b] = [join(folder, "a"), join(folder, "b")];
      tool(a, "etcd", "etcd Version: 3.5.9");
      const fitting = tool(b, "etcd", "etcd Version: 3.6.16");
      const found = await findInstalled({ PATH: `${a}:${b}`, HOME: folder }, root);
      expect(found).to.deep.equal({ etcd: fitting });
    });

    it("refuses a CLI without its language host", async () => {
      tool(folder, "pulumi", "v3.274.1");
      expect(await findInstalled({ PATH: folder, HOME: folder }, root)).to.deep.equal({});
    });

    it("takes a CLI whose language host lies beside the file that a link leads to", async () => {
      const real = tool(join(folder, "real"), "pulumi", "v3.280.0");
      tool(join(folder, "real"), "pulumi-language-nodejs", "");
      mkdirSync(join(folder, "bin"));
      const link = join(folder, "bin", "pulumi");
      symlinkSync(real, link);
      const found = await findInstalled({ PATH: join(folder, "bin"), HOME: folder }, root);
      expect(found).to.deep.equal({ pulumi: link });
    });

    it("takes the provider from the plugins folder of its version, and not a half-installed one", async () => {
      const plugins = join(folder, ".pulumi", "plugins");
      tool(join(plugins, "resource-kubernetes-v4.24.0"), "pulumi-resource-kubernetes", "");
      expect(await findInstalled({ PATH: "", HOME: folder }, root)).to.deep.equal({});
      const provider = tool(
        join(plugins, "resource-kubernetes-v4.25.0"),
        "pulumi-resource-kubernetes",
        "",
      );
      expect(await findInstalled({ PATH: "", HOME: folder }, root)).to.deep.equal({
        "pulumi-resource-kubernetes": provider,
      });
      writeFileSync(join(plugins, "resource-kubernetes-v4.25.0.partial"), "");
      expect(await findInstalled({ PATH: "", HOME: folder }, root)).to.deep.equal({});
    });

    it("does not take the cache's own binaries for installed ones", async () => {
      tool(join(root, "bin-1"), "etcd", "etcd Version: 3.6.16");
      const env = { PATH: join(root, "bin-1"), HOME: folder };
      expect(await findInstalled(env, root)).to.deep.equal({});
    });

    it("asks a tool once, and again after it changed", async () => {
      const env = { PATH: folder, HOME: folder };
      const calls = join(folder, "calls");
      const answering = (version: string): void => {
        const path = tool(folder, "etcd", `etcd Version: ${version}`);
        writeFileSync(path, `#!/bin/sh\necho x >> ${calls}\necho 'etcd Version: ${version}'\n`);
      };
      answering("3.6.16");
      const first = await findInstalled(env, root);
      const second = await findInstalled(env, root);
      expect([first, second]).to.deep.equal([
        { etcd: join(folder, "etcd") },
        { etcd: join(folder, "etcd") },
      ]);
      expect(readFileSync(calls, "utf8")).to.equal("x\n");
      answering("3.6.1700");
      expect(await findInstalled(env, root)).to.deep.equal({});
      expect(readFileSync(calls, "utf8")).to.equal("x\nx\n");
    });
  });
});
