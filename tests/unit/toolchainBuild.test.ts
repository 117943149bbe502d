import { expect } from "chai";
import { spawn, type ChildProcess } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { cachedPaths, cacheRoot } from "../../lab/toolchain/cache.ts";
import { labTools, type LabTool } from "../../lab/toolchain/pins.ts";

const program = join(import.meta.dirname, "..", "..", "lab", "toolchain.ts");
const runAgain = "  then run the same again: it goes on from here, finished binaries are kept";

/** Stands for Go: notes each build, and fails or hangs in the package that the test names. */
const fakeGo = `#!/bin/sh
PATH=/usr/bin:/bin
case "$1" in
env) echo "\${FAKE_GO_VERSION:-go1.26.8}" ;;
mod) printf '{"Dir":"%s"}' "$FAKE_FOLDER" ;;
build)
  name=\${3##*/}
  echo "$name" >> "$FAKE_FOLDER/builds"
  if [ "$name" = "$FAKE_FAILING" ]; then echo "$FAKE_MESSAGE" >&2; exit 1; fi
  if [ "$name" = "$FAKE_HANGING" ]; then
    echo half > "$3"
    echo left > "$GOTMPDIR/left"
    sleep 60 & echo $! > "$FAKE_FOLDER/compiler"; wait
  fi
  [ -z "$FAKE_SLOW" ] || sleep 0.3
  echo "$name" > "$3" ;;
esac
`;

interface Result {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

describe("toolchain build", function () {
  this.timeout(60_000);
  let folder: string;
  let root: string;
  let children: ChildProcess[];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "build-"));
    root = cacheRoot({ XDG_CACHE_HOME: folder });
    children = [];
    mkdirSync(join(folder, "bin"));
    writeFileSync(join(folder, "bin", "go"), fakeGo);
    chmodSync(join(folder, "bin", "go"), 0o755);
    const generated = join(folder, "cmd", "pulumi-resource-kubernetes");
    mkdirSync(generated, { recursive: true });
    for (const file of ["schema.json", "terraform-mapping.json"]) {
      writeFileSync(join(generated, file), "{}");
    }
  });
  afterEach(() => {
    for (const child of children) child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });

  function start(env: Readonly<Record<string, string>> = {}): {
    readonly child: ChildProcess;
    readonly result: Promise<Result>;
  } {
    const child = spawn(process.execPath, [program], {
      env: {
        HOME: folder,
        PATH: join(folder, "bin"),
        XDG_CACHE_HOME: folder,
        FAKE_FOLDER: folder,
        ...env,
      },
    });
    children.push(child);
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (data: Buffer) => (stdout += data.toString()));
    child.stderr.on("data", (data: Buffer) => (stderr += data.toString()));
    const { promise, resolve } = Promise.withResolvers<Result>();
    child.once("close", (code) => {
      resolve({ code, stdout, stderr });
    });
    return { child, result: promise };
  }

  const run = (env?: Readonly<Record<string, string>>): Promise<Result> => start(env).result;

  function builds(): string[] {
    const file = join(folder, "builds");
    return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  }

  function built(): LabTool[] {
    const paths = cachedPaths(root);
    return labTools.filter((name) => existsSync(paths[name]));
  }

  /** What must not be there after a build, however it ended. */
  function leftovers(): string[] {
    const entries = existsSync(root) ? readdirSync(root) : [];
    return entries.filter((entry) => /^(?:work|lock)|\.\d+$/.test(entry));
  }

  async function until(condition: () => boolean): Promise<void> {
    const deadline = performance.now() + 5000;
    while (!condition()) {
      if (performance.now() > deadline) throw new Error("waited 5 s in vain");
      await sleep(10);
    }
  }

  it("builds each binary once, and nothing when all are there", async () => {
    const first = await run();
    expect(first.code, first.stderr).to.equal(0);
    expect(builds()).to.deep.equal(labTools);
    expect(first.stderr).to.match(
      /^\[3\/9\] kube-apiserver 1\.36\.3: building\n\[3\/9\] kube-apiserver 1\.36\.3: built in \ds$/m,
    );
    const second = await run();
    expect([second.code, second.stderr]).to.deep.equal([0, ""]);
    expect(builds()).to.have.length(9);
    expect(leftovers()).to.deep.equal([]);
  });

  it("names step, cause, fix, log and next command when a step fails, and goes on there", async () => {
    const message = "x.go:1:1: undefined: y";
    const failed = await run({ FAKE_FAILING: "etcd", FAKE_MESSAGE: message });
    expect(failed.code).to.equal(1);
    const log = join(root, "logs", "etcd.log");
    expect(failed.stderr.trimEnd().split("\n").slice(-3)).to.deep.equal([
      `[7/9] etcd 3.6.16 failed: ${message}`,
      `  To do: read the log for the cause; log: ${log};`,
      runAgain,
    ]);
    expect(readFileSync(log, "utf8")).to.equal(`${message}\n`);
    expect(built()).to.deep.equal(labTools.slice(0, 6));
    expect(leftovers()).to.deep.equal([]);

    expect((await run()).code).to.equal(0);
    expect(builds().slice(7)).to.deep.equal(["etcd", "kwok", "kwokctl"]);
  });

  const causes = [
    [
      "no network",
      'go: x@v1: Get "https://m/x": dial tcp: lookup m: no such host',
      "no network: the Go modules could not be downloaded: ",
    ],
    ["a full disk", "write x.a: no space left on device", "the disk is full: "],
  ] as const;
  for (const [name, message, cause] of causes) {
    it(`tells ${name} and leaves nothing half-written`, async () => {
      const failed = await run({ FAKE_FAILING: "pulumi", FAKE_MESSAGE: message });
      expect(failed.code).to.equal(1);
      expect(failed.stderr).to.include(`[1/9] pulumi 3.274.1 failed: ${cause}${message}\n`);
      expect(built()).to.deep.equal([]);
      expect(leftovers()).to.deep.equal([]);
    });
  }

  it("tells that Go is missing, and what to install", async () => {
    rmSync(join(folder, "bin", "go"));
    const failed = await run();
    expect(failed.code).to.equal(1);
    expect(failed.stderr.trimEnd().split("\n").at(-1)).to.equal(
      "Go is not installed (no `go` on PATH); install Go 1.26.6 or later (https://go.dev/dl), " +
        "or put on PATH: pulumi 3.274.1 or later (the official one), kube-apiserver 1.36.3, " +
        "kube-controller-manager 1.36.3, kube-scheduler 1.36.3, kubectl 1.36.3, etcd 3.6.16, " +
        "kwok 0.8.0, kwokctl 0.8.0; and run `pulumi plugin install resource kubernetes 4.25.0`",
    );
    expect(leftovers()).to.deep.equal([]);
  });

  it("tells that Go is too old before it builds anything", async () => {
    const failed = await run({ FAKE_GO_VERSION: "go1.25.9" });
    expect(failed.code).to.equal(1);
    expect(failed.stderr).to.include("Go 1.25.9 is too old: 1.26.6 is needed; install Go 1.26.6");
    expect(builds()).to.deep.equal([]);
  });

  it("tells that the cache cannot be written", async () => {
    const file = join(folder, "file");
    writeFileSync(file, "");
    const failed = await run({ XDG_CACHE_HOME: file });
    expect(failed.code).to.equal(1);
    expect(failed.stderr).to.include(
      `the cache ${file}/llm-serving/toolchain cannot be written: ENOTDIR`,
    );
  });

  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    it(`ends with 130 on ${signal}, with no compiler and nothing half-written left`, async () => {
      const { child, result } = start({ FAKE_HANGING: "kube-scheduler" });
      const pidFile = join(folder, "compiler");
      await until(() => existsSync(pidFile) && readFileSync(pidFile, "utf8").endsWith("\n"));
      expect(leftovers()).to.deep.equal(["lock", `work-${child.pid ?? 0}`]);
      child.kill(signal);
      const { code, stderr } = await result;
      expect(code).to.equal(130);
      expect(stderr.trimEnd().split("\n").at(-1)).to.equal(
        "interrupted: the unfinished build is removed; then run the same again: " +
          "it goes on from here, finished binaries are kept",
      );
      expect(built()).to.deep.equal(labTools.slice(0, 4));
      expect(leftovers()).to.deep.equal([]);
      const compiler = Number(readFileSync(pidFile, "utf8"));
      await until(() => !isRunning(compiler));
    });
  }

  it("cleans up after a build that was killed", async () => {
    const { child, result } = start({ FAKE_HANGING: "etcd" });
    await until(() => builds().includes("etcd"));
    child.kill("SIGKILL");
    await result;
    expect(leftovers()).to.deep.equal(["lock", `work-${child.pid ?? 0}`]);
    expect((await run()).code).to.equal(0);
    expect(leftovers()).to.deep.equal([]);
    expect(builds()).to.deep.equal([...labTools.slice(0, 7), "etcd", "kwok", "kwokctl"]);
  });

  it("lets a second process wait for the first, and builds nothing twice", async () => {
    const first = start({ FAKE_SLOW: "1" });
    await until(() => builds().length > 0);
    const second = start({ FAKE_SLOW: "1" });
    const [a, b] = await Promise.all([first.result, second.result]);
    expect([a.code, b.code]).to.deep.equal([0, 0]);
    expect(builds()).to.deep.equal(labTools);
    const name = `(?:${labTools.join("|")})`;
    expect(b.stderr).to.match(
      new RegExp(`^waiting for process ${first.child.pid ?? 0}, which builds ${name}`, "m"),
    );
    expect(leftovers()).to.deep.equal([]);
  });
});

/** Whether the process runs; a zombie, which nobody has waited for yet, does not. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
