import { expect } from "chai";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { mock } from "node:test";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cachedPaths, cacheRoot, moduleKey, sourceFolder } from "../../lab/toolchain/cache.ts";
import { diagnose, diagnoseWrite } from "../../lab/toolchain/failure.ts";
import { makeBinFolder, makePulumiHome } from "../../lab/toolchain/folders.ts";
import { compareGoVersions } from "../../lab/toolchain/goTool.ts";
import { labTools, buildArguments, pins } from "../../lab/toolchain/pins.ts";
import { createProgress, formatDuration } from "../../lab/toolchain/progress.ts";
import packageJson from "../../package.json" with { type: "json" };

function tool(folder: string, name: string, output: string): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\necho '${output}'\n`);
  chmodSync(path, 0o755);
  return path;
}

/** What a step of this length writes, on a clock that the test turns. */
async function recordProgress(milliseconds: number, isTerminal: boolean): Promise<string[]> {
  mock.timers.enable({ apis: ["setInterval", "Date"] });
  try {
    const written: string[] = [];
    const write = (text: string): void => void written.push(text);
    const output = isTerminal
      ? { line: write, live: { write, columns: () => 80 } }
      : { line: write };
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const done = createProgress(output).during(
      (elapsed) => `step${elapsed}`,
      () => promise,
    );
    // Second by second: one big tick would show every call the time at its end.
    for (let time = 0; time < milliseconds; time += 1000) mock.timers.tick(1000);
    resolve(undefined);
    await done;
    return written;
  } finally {
    mock.timers.reset();
  }
}

describe("toolchain", () => {
  let folder: string;
  let root: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "toolchain-"));
    root = join(folder, "cache");
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  describe("pins", () => {
    it("names the provider's version as package.json does", () => {
      expect(pins["pulumi-resource-kubernetes"].version).to.equal(
        packageJson.dependencies["@pulumi/kubernetes"],
      );
    });

    it("gives the linker each binary's own version", () => {
      const versions = ["pulumi", "pulumi-resource-kubernetes", "kubectl", "kwokctl"] as const;
      expect(versions.map((name) => buildArguments(pins[name])[6])).to.deep.equal([
        "-s -w -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v3.274.1",
        "-s -w -X github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version.Version=4.25.0",
        "-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3" +
          " -X k8s.io/component-base/version.gitMajor=1" +
          " -X k8s.io/component-base/version.gitMinor=36" +
          " -X k8s.io/component-base/version.gitTreeState=clean",
        "-s -w -X sigs.k8s.io/kwok/pkg/consts.Version=v0.8.0",
      ]);
    });
  });

  describe("cache", () => {
    it("lies under XDG_CACHE_HOME, or ~/.cache where that is unset or relative", () => {
      const roots = [{ XDG_CACHE_HOME: "/x" }, {}, { XDG_CACHE_HOME: "x" }, { XDG_CACHE_HOME: "" }];
      expect(roots.map((env) => cacheRoot({ HOME: "/h", ...env }))).to.deep.equal([
        "/x/llm-serving/toolchain",
        "/h/.cache/llm-serving/toolchain",
        "/h/.cache/llm-serving/toolchain",
        "/h/.cache/llm-serving/toolchain",
      ]);
    });

    it("keeps one folder per module", () => {
      const folders = Object.values(cachedPaths(root)).map((path) => path.split("/").at(-2));
      expect(folders).to.have.length(13);
      expect(new Set(folders).size).to.equal(9);
    });

    for (const file of ["go.mod", "go.sum", "main.go"]) {
      it(`changes a module's key when its ${file} changes`, () => {
        cpSync(join(sourceFolder, "provider"), join(folder, "provider"), { recursive: true });
        const before = moduleKey("provider", folder);
        expect(before).to.equal(moduleKey("provider"));
        writeFileSync(join(folder, "provider", file), "// changed", { flag: "a" });
        expect(moduleKey("provider", folder)).to.not.equal(before);
      });
    }
  });

  describe("folders for the CLI", () => {
    const paths = () =>
      Object.fromEntries(
        labTools.map((name) => [name, tool(join(folder, "built"), name, name)]),
      ) as Record<(typeof labTools)[number], string>;

    it("hold the language host stand-in only where the official one is absent", () => {
      const withHost = makeBinFolder(root, paths(), true);
      const without = makeBinFolder(root, paths(), false);
      expect(readdirSync(withHost)).to.deep.equal([
        "kubectl",
        "kwokctl",
        "languageHost.mts",
        "pulumi",
        "pulumi-language-nodejs",
      ]);
      expect(readdirSync(without)).to.deep.equal(["kubectl", "kwokctl", "pulumi"]);
    });

    it("are the same folder for the same choice and leave nothing beside it", () => {
      expect(makeBinFolder(root, paths(), true)).to.equal(makeBinFolder(root, paths(), true));
      expect(readdirSync(root)).to.have.length(1);
    });

    it("follow the provider that is chosen", () => {
      const plugin = "plugins/resource-kubernetes-v4.25.0/pulumi-resource-kubernetes";
      for (const provider of ["/one", "/two"]) {
        const home = makePulumiHome(root, provider);
        expect(readlinkSync(join(home, plugin))).to.equal(provider);
      }
    });
  });

  describe("diagnosis of a failed build", () => {
    const cases: readonly (readonly [string, string, string])[] = [
      [
        "a name that is not found",
        'go: x@v1: Get "https://m/x": dial tcp: lookup m on 127.0.0.1:53: no such host',
        "no network: ",
      ],
      ["a timeout", 'go: x@v1: Get "https://m/x": net/http: TLS handshake timeout', "no network: "],
      ["a dead proxy", 'go: x: Get "https://m": proxyconnect tcp: EOF', "no network: "],
      ["GOPROXY=off", "go: x@v1: module lookup disabled by GOPROXY=off", "no network: "],
      ["a full disk", "write /c/b001/_pkg_.a: no space left on device", "the disk is full: "],
      [
        "a disk that fills up while downloading",
        "go: dial tcp: i/o timeout\nopen /c/x: no space left on device",
        "the disk is full: open /c/x",
      ],
      ["too little memory", "x/y: compile: signal: killed", "the compiler was killed: "],
      ["anything else", "# x/y\ny.go:3:1: undefined: z\n", "y.go:3:1: undefined: z"],
      ["silence", "", "no output"],
    ];
    for (const [name, output, cause] of cases) {
      it(`tells ${name}`, () => {
        expect(diagnose(output).cause.slice(0, cause.length)).to.equal(cause);
      });
    }

    it("tells a full disk from a cache that cannot be written", () => {
      const error = (code: string, text: string) =>
        Object.assign(new Error(`${code}: ${text}`), { code, errno: -1 });
      expect(diagnoseWrite(error("ENOSPC", "no space left on device, write"), "/c").cause).to.equal(
        "the disk is full: ENOSPC: no space left on device, write",
      );
      expect(diagnoseWrite(error("EROFS", "read-only file system"), "/c").cause).to.equal(
        "the cache /c cannot be written: EROFS: read-only file system",
      );
    });

    it("passes on what is a bug", () => {
      expect(() => diagnoseWrite(new TypeError("x is undefined"), "/c")).to.throw(TypeError);
    });
  });

  it("orders Go versions by number", () => {
    const pairs = [
      ["go1.26.8", "1.26.6"],
      ["go1.9.7", "1.26.6"],
      ["go1.26.6", "1.26.6"],
      ["go1.26.10", "1.26.6"],
      ["1.26", "1.26.0"],
    ] as const;
    expect(pairs.map(([a, b]) => Math.sign(compareGoVersions(a, b)))).to.deep.equal([
      1, -1, 0, 1, 0,
    ]);
  });

  describe("progress", () => {
    it("says times as a person does", () => {
      expect([0, 59_999, 60_000, 80_000, 3_600_000].map(formatDuration)).to.deep.equal([
        "0s",
        "59s",
        "1m 0s",
        "1m 20s",
        "60m 0s",
      ]);
    });

    it("writes a line at once and one every 30 s where the output is not a terminal", async () => {
      expect(await recordProgress(95_000, false)).to.deep.equal([
        "step",
        "step (30s)",
        "step (1m 0s)",
        "step (1m 30s)",
      ]);
    });

    it("rewrites its line every second on a terminal, and clears it at the end", async () => {
      const clear = "\r\u001b[K";
      expect(await recordProgress(2_000, true)).to.deep.equal([
        `${clear}step`,
        `${clear}step (1s)`,
        `${clear}step (2s)`,
        clear,
      ]);
    });
  });
});
