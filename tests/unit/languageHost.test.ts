import {
  credentials,
  Server,
  ServerCredentials,
  status,
  type sendUnaryData,
  type ServiceError,
} from "@grpc/grpc-js";
import engineServices from "@pulumi/pulumi/proto/engine_grpc_pb.js";
import engine, { type LogRequest } from "@pulumi/pulumi/proto/engine_pb.js";
import services from "@pulumi/pulumi/proto/language_grpc_pb.js";
import messages, {
  type ProgramInfo,
  type RunPluginResponse,
  type RunResponse,
} from "@pulumi/pulumi/proto/language_pb.js";
import resourceServices from "@pulumi/pulumi/proto/resource_grpc_pb.js";
import resources from "@pulumi/pulumi/proto/resource_pb.js";
import empty from "google-protobuf/google/protobuf/empty_pb.js";
import struct from "google-protobuf/google/protobuf/struct_pb.js";
import { expect } from "chai";
import { spawn, spawnSync, type ChildProcessByStdio } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { makeBinFolder } from "../../lab/toolchain/folders.ts";
import { labTools, type LabTool } from "../../lab/toolchain/pins.ts";

const clone = join(import.meta.dirname, "..", "..");
/** The engine's side of a run, as far as a program without resources asks for it. */
interface Engine {
  readonly server: Server;
  readonly address: string;
  /** Errors that programs reported, the newest last. */
  readonly errors: string[];
}

async function startEngine(): Promise<Engine> {
  const errors: string[] = [];
  const answer =
    <T>(make: () => T) =>
    (_call: unknown, reply: sendUnaryData<T>): void => {
      reply(null, make());
    };
  const server = new Server();
  server.addService(resourceServices.ResourceMonitorService, {
    supportsFeature: answer(() => new resources.SupportsFeatureResponse()),
    registerResource: answer(() => new resources.RegisterResourceResponse().setUrn("urn")),
    registerResourceOutputs: answer(() => new empty.Empty()),
    signalAndWaitForShutdown: answer(() => new empty.Empty()),
  });
  server.addService(engineServices.EngineService, {
    setRootResource: answer(() => new engine.SetRootResourceResponse()),
    log: ({ request }: { readonly request: LogRequest }, reply: sendUnaryData<unknown>) => {
      if (request.getSeverity() === engine.LogSeverity.ERROR) errors.push(request.getMessage());
      reply(null, new empty.Empty());
    },
  });
  const { promise, resolve } = Promise.withResolvers<number>();
  server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (_error, port) => {
    resolve(port);
  });
  return { server, address: `127.0.0.1:${await promise}`, errors };
}

describe("language host", function () {
  this.timeout(60_000);
  let folder: string;
  let launcher: string;
  let host: ChildProcessByStdio<null, Readable, Readable>;
  let cli: Engine;
  let client: services.LanguageRuntimeClient;
  let output: string;
  let errors: string;

  before(async () => {
    cli = await startEngine();
  });
  after(() => {
    cli.server.forceShutdown();
  });

  /** Starts the host as the CLI does: through its launcher, in the program's folder. */
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "host-"));
    symlinkSync(join(clone, "node_modules"), join(folder, "node_modules"));
    writeFileSync(join(folder, "package.json"), '{"type":"module","version":"1.2.3"}');
    const paths = Object.fromEntries(labTools.map((name) => [name, process.execPath]));
    const bin = makeBinFolder(join(folder, "cache"), paths as Record<LabTool, string>, true);
    launcher = join(bin, "pulumi-language-nodejs");
    await started(launcher, ["--logtostderr", cli.address]);
  });
  afterEach(() => {
    client.close();
    host.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });

  /** Starts a host, or a program that starts it, and connects to it. */
  async function started(program: string, args: readonly string[]): Promise<void> {
    host = spawn(program, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
    output = "";
    errors = "";
    host.stdout.on("data", (data: Buffer) => (output += data.toString()));
    host.stderr.on("data", (data: Buffer) => (errors += data.toString()));
    await until(() => output.endsWith("\n"));
    client = new services.LanguageRuntimeClient(
      `127.0.0.1:${Number(output)}`,
      credentials.createInsecure(),
    );
    output = "";
  }

  function info(): ProgramInfo {
    return new messages.ProgramInfo()
      .setRootDirectory(folder)
      .setProgramDirectory(folder)
      .setEntryPoint("index.ts")
      .setOptions(struct.Struct.fromJavaScript({ typescript: false }));
  }

  async function run(program: string): Promise<RunResponse> {
    writeFileSync(join(folder, "index.ts"), program);
    const request = new messages.RunRequest()
      .setProject("p")
      .setStack("s")
      .setOrganization("o")
      .setPwd(folder)
      .setProgram("index.ts")
      .setDryrun(true)
      .setParallel(4)
      .setMonitorAddress(cli.address)
      .setConfigsecretkeysList(["p:secret"])
      .setInfo(info());
    request.getConfigMap().set("p:replicas", "0").set("p:secret", "x=y");
    return call<RunResponse>((done) => client.run(request, done));
  }

  it("answers the handshake", async () => {
    const request = new messages.LanguageHandshakeRequest().setEngineAddress("127.0.0.1:1");
    const response = await call<{ toObject(): object }>((done) => client.handshake(request, done));
    expect(response.toObject()).to.deep.equal({});
  });

  it("has the version of the program's @pulumi/pulumi", async () => {
    const file = join(clone, "node_modules", "@pulumi", "pulumi", "package.json");
    const { version } = JSON.parse(readFileSync(file, "utf8")) as { version: string };
    const response = await call<{ getVersion(): string }>((done) =>
      client.getPluginInfo(new empty.Empty(), done),
    );
    expect(response.getVersion()).to.equal(version);
  });

  it("requires no packages", async () => {
    const request = new messages.GetRequiredPackagesRequest().setInfo(info());
    const response = await call<{ getPackagesList(): unknown[] }>((done) =>
      client.getRequiredPackages(request, done),
    );
    expect(response.getPackagesList()).to.deep.equal([]);
  });

  it("hands the program its configuration, its names and its output", async () => {
    const response = await run(`
      import * as pulumi from "@pulumi/pulumi";
      const config = new pulumi.Config();
      const replicas: number = config.requireNumber("replicas");
      const secret = JSON.parse(process.env.PULUMI_CONFIG_SECRET_KEYS ?? "");
      console.log(JSON.stringify([replicas, config.get("secret"), secret, pulumi.getProject(),
        pulumi.getStack(), pulumi.getOrganization(), pulumi.runtime.isDryRun()]));
      console.error("to stderr");`);
    expect(response.toObject()).to.deep.equal({ error: "", bail: false });
    expect(JSON.parse(output)).to.deep.equal([0, "x=y", ["p:secret"], "p", "s", "o", true]);
    expect(errors).to.equal("to stderr\n");
  });

  it("bails without an error of its own when the program has told the engine why it failed", async () => {
    const response = await run(`
      import * as pulumi from "@pulumi/pulumi";
      throw new pulumi.RunError("replicas = -1: not allowed");`);
    expect(response.toObject()).to.deep.equal({ error: "", bail: true });
    expect(cli.errors).to.deep.equal(["replicas = -1: not allowed"]);
  });

  it("reports a program that exits otherwise", async () => {
    const response = await run("process.exit(7);");
    expect(response.toObject()).to.deep.equal({
      error: "Program exited with non-zero exit code: 7",
      bail: false,
    });
  });

  it("ends a running program when it is cancelled", async () => {
    const running = run(
      "console.log('up'); setInterval(() => {}, 1000); await new Promise(() => {});",
    );
    await until(() => output === "up\n");
    await call((done) => client.cancel(new empty.Empty(), done));
    expect((await running).getError()).to.equal("Program exited with non-zero exit code: -1");
  });

  it("runs a policy pack in its own folder and streams its output and exit code", async () => {
    writeFileSync(join(folder, "package.json"), '{"main":"pack.cjs"}');
    writeFileSync(
      join(folder, "pack.cjs"),
      `console.log(process.cwd(), process.env.LEVEL);
       console.error("careful");
       process.exit(3);`,
    );
    const request = new messages.RunPluginRequest()
      .setPwd(tmpdir())
      .setKind("analyzer")
      .setArgsList(["127.0.0.1:2"])
      .setEnvList(["LEVEL=a=b"])
      .setInfo(info());
    const written: Record<"stdout" | "stderr", string> = { stdout: "", stderr: "" };
    let code = -1;
    for await (const message of client.runPlugin(request) as AsyncIterable<RunPluginResponse>) {
      written.stdout += Buffer.from(message.getStdout_asU8()).toString();
      written.stderr += Buffer.from(message.getStderr_asU8()).toString();
      if (message.hasExitcode()) code = message.getExitcode();
    }
    expect(written).to.deep.equal({
      stdout: `${folder} a=b\n`,
      stderr: "careful\n",
    });
    expect(code).to.equal(3);
  });

  it("says that it does not do the rest", async () => {
    const stream = client.installDependencies(new messages.InstallDependenciesRequest());
    const error = await new Promise<ServiceError>((resolve) => stream.once("error", resolve));
    expect(error.code).to.equal(status.UNIMPLEMENTED);
  });

  it("ends when the CLI is gone", () => {
    // A shell that starts the host and dies once it has the port stands for a killed CLI.
    const script = `"${launcher}" 127.0.0.1:1 >port 2>&1 & while ! [ -s port ]; do :; done; echo $!`;
    const options = { cwd: folder, encoding: "utf8", timeout: 10_000 } as const;
    const pid = Number(spawnSync("/bin/sh", ["-c", script], options).stdout);
    expect(pid).to.be.greaterThan(1);
    return until(() => !isAlive(pid));
  });

  it("ends when the CLI was gone before it could look who its parent is", () => {
    // The subshell and the reader of the port end while Node still starts.
    const script = `{ "${launcher}" 127.0.0.1:1 2>/dev/null & echo $! >pid; } | :`;
    spawnSync("/bin/sh", ["-c", script], { cwd: folder, timeout: 10_000 });
    const pid = Number(readFileSync(join(folder, "pid"), "utf8"));
    expect(pid).to.be.greaterThan(1);
    return until(() => !isAlive(pid));
  });

  it("takes a program with it that does not end when asked", async () => {
    const first = { client, host };
    try {
      await started("/bin/sh", ["-c", `"${launcher}" ${cli.address} & wait`]);
      const running = run(`
        process.on("SIGTERM", () => {});
        console.log(process.pid, process.ppid);
        setInterval(() => {}, 1000);
        await new Promise(() => {});`).catch(() => "lost");
      await until(() => output.endsWith("\n"));
      const pids = output.split(" ").map(Number);
      expect(pids.every(isAlive)).to.equal(true);
      host.kill("SIGKILL");
      await until(() => !pids.some(isAlive));
      expect(await running).to.equal("lost");
    } finally {
      first.client.close();
      first.host.kill("SIGKILL");
    }
  });
});

function call<T>(start: (done: (error: ServiceError | null, response: T) => void) => unknown) {
  return new Promise<T>((resolve, reject) => {
    start((error, response) => {
      if (error === null) resolve(response);
      else reject(error);
    });
  });
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error("waited 10 s in vain");
    await sleep(10);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
