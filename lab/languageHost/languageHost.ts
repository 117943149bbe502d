// A stand-in for pulumi-language-nodejs where the official one is not installed: the LanguageRuntime
// service as far as preview, up, refresh, destroy and policy packs use it. The CLI starts it in the
// program's folder with the engine's address as the last argument, and reads the port from stdout.
// It runs from a copy outside the clone: it must stay one file, and finds gRPC through the program.
// Left out: `pulumi install` and `new`, debuggers, synchronous invokes, and the stack's name and
// configuration inside policy packs, which the official host learns by standing between.
import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import type * as grpcTypes from "@grpc/grpc-js";
import type * as services from "@pulumi/pulumi/proto/language_grpc_pb.js";
import type * as messages from "@pulumi/pulumi/proto/language_pb.js";
import type * as plugins from "@pulumi/pulumi/proto/plugin_pb.js";
import type * as wellKnown from "google-protobuf/google/protobuf/empty_pb.js";

type Call<Request> = grpcTypes.ServerUnaryCall<Request, unknown>;
type PluginCall = grpcTypes.ServerWritableStream<
  messages.RunPluginRequest,
  messages.RunPluginResponse
>;

/** Exit code by which a program says that it has already told the user why it failed. */
const alreadyReported = 32;
const engineAddress = process.argv.at(-1) ?? "";
/** The CLI, asked for before the second that gRPC takes to load, in which it may already die. */
const parent = process.ppid;

const load = createRequire(join(process.cwd(), "index.js"));
const loadBeside = createRequire(load.resolve("@pulumi/pulumi"));
const grpc = loadBeside("@grpc/grpc-js") as typeof grpcTypes;
const { Empty } = loadBeside("google-protobuf/google/protobuf/empty_pb.js") as typeof wellKnown;
const pb = load("@pulumi/pulumi/proto/language_pb.js") as typeof messages;
const { PluginInfo } = load("@pulumi/pulumi/proto/plugin_pb.js") as typeof plugins;
const { LanguageRuntimeService: service } = load(
  "@pulumi/pulumi/proto/language_grpc_pb.js",
) as typeof services;

const running = new Set<ChildProcess>();

/** Starts one of the SDK's runners, as the program's folder has it, for as long as the call lasts. */
function start(
  call: Pick<grpcTypes.ServerUnaryCall<unknown, unknown>, "on">,
  runner: "run" | "run-policy-pack" | "run-plugin",
  info: messages.ProgramInfo | undefined,
  args: readonly string[],
  options: SpawnOptions,
): ChildProcess {
  const folder = info?.getProgramDirectory() ?? process.cwd();
  const script = createRequire(join(folder, "index.js")).resolve(`@pulumi/pulumi/cmd/${runner}`);
  // The SDK compiles TypeScript itself unless the project says that Node does.
  const isCompiled = info?.getOptions()?.toJavaScript().typescript !== false;
  const env = { ...options.env, PULUMI_NODEJS_TYPESCRIPT: `${isCompiled}` };
  const child = spawn(process.execPath, [script, ...args], { ...options, env });
  running.add(child);
  call.on("cancelled", () => child.kill());
  return child;
}

/** The exit code; -1 where the process was killed or could not start. */
function exitOf(child: ChildProcess): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  child.once("error", () => {
    resolve(-1);
  });
  child.once("close", (code) => {
    resolve(code ?? -1);
  });
  return promise.finally(() => running.delete(child));
}

async function run(call: Call<messages.RunRequest>): Promise<messages.RunResponse> {
  const { request } = call;
  const info = request.getInfo();
  const args = Object.entries({
    monitor: request.getMonitorAddress(),
    engine: engineAddress,
    organization: request.getOrganization(),
    project: request.getProject(),
    stack: request.getStack(),
    pwd: request.getPwd(),
    "root-directory": info?.getRootDirectory() ?? "",
    parallel: `${request.getParallel()}`,
  }).flatMap(([flag, value]) => (value === "" ? [] : [`--${flag}`, value]));
  if (request.getDryrun()) args.push("--dry-run");
  // Without a stated program, Node takes package.json's main.
  args.push(request.getProgram() || ".", ...request.getArgsList());
  const env = {
    ...process.env,
    PULUMI_CONFIG: JSON.stringify(Object.fromEntries(request.getConfigMap().toArray())),
    PULUMI_CONFIG_SECRET_KEYS: JSON.stringify(request.getConfigsecretkeysList()),
  };
  // The program's output is this host's own, from which the CLI reads it.
  const child = start(call, "run", info, args, { env, stdio: ["ignore", "inherit", "inherit"] });
  const code = await exitOf(child);
  const response = new pb.RunResponse();
  if (code === alreadyReported) return response.setBail(true);
  return code === 0
    ? response
    : response.setError(`Program exited with non-zero exit code: ${code}`);
}

async function runPlugin(call: PluginCall): Promise<void> {
  const { request } = call;
  const info = request.getInfo();
  const folder = info?.getProgramDirectory() ?? request.getProgram();
  const env = Object.fromEntries(
    request.getEnvList().map((entry) => /^([^=]*)=?(.*)$/s.exec(entry)?.slice(1) ?? []),
  ) as NodeJS.ProcessEnv;
  // A policy pack runs in its own folder, which it expects as the last argument.
  const isPolicyPack = request.getKind() === "analyzer";
  const child = isPolicyPack
    ? start(call, "run-policy-pack", info, [...request.getArgsList(), folder], { cwd: folder, env })
    : start(call, "run-plugin", info, [folder, ...request.getArgsList()], {
        cwd: request.getPwd(),
        env,
      });
  child.stdout?.on("data", (data: Buffer) => {
    call.write(new pb.RunPluginResponse().setStdout(data));
  });
  child.stderr?.on("data", (data: Buffer) => {
    call.write(new pb.RunPluginResponse().setStderr(data));
  });
  call.write(new pb.RunPluginResponse().setExitcode(await exitOf(child)));
  call.end();
}

function killAll(signal: NodeJS.Signals = "SIGTERM"): void {
  for (const child of running) child.kill(signal);
}

/** Ends this host with whatever runs under it. Nobody is left to wait for a program that has its own way to end. */
function endAll(): void {
  killAll("SIGKILL");
  process.exit(1);
}

function asServiceError(error: unknown): Partial<grpcTypes.ServiceError> {
  const details = error instanceof Error ? error.message : String(error);
  return { code: grpc.status.UNKNOWN, details };
}

/** Answers a call with what a function returns; an exception becomes the call's error. */
function unary<Request, Response>(answer: (call: Call<Request>) => Response | Promise<Response>) {
  return (call: Call<Request>, reply: grpcTypes.sendUnaryData<Response>): void => {
    (async () => answer(call))().then(
      (response) => {
        reply(null, response);
      },
      (error: unknown) => {
        reply(asServiceError(error));
      },
    );
  };
}

// What is not listed here gRPC answers with UNIMPLEMENTED.
const server = new grpc.Server({ "grpc.max_receive_message_length": -1 });
server.addService(service, {
  handshake: unary(() => new pb.LanguageHandshakeResponse()),
  getPluginInfo: unary(() => {
    const { version } = load("@pulumi/pulumi/package.json") as { version: string };
    return new PluginInfo().setVersion(version);
  }),
  // The plugins are in PULUMI_HOME already: there is nothing to look for in node_modules.
  getRequiredPlugins: unary(() => new pb.GetRequiredPluginsResponse()),
  getRequiredPackages: unary(() => new pb.GetRequiredPackagesResponse()),
  about: unary(() =>
    new pb.AboutResponse().setExecutable(process.execPath).setVersion(process.version),
  ),
  run: unary(run),
  runPlugin: (call: PluginCall) => {
    runPlugin(call).catch((error: unknown) => call.emit("error", asServiceError(error)));
  },
  cancel: unary(() => {
    killAll();
    return new Empty();
  }),
});
// A CLI that was killed says no goodbye, and a server waits for ever. The parent's pid alone tells whether the CLI lives:
// stdin is no pipe, and what reads stdout shows only to a writer. A CLI that was dead before `parent` was read has left a
// pipe that nobody reads, so that writing the port fails; console.log would hide that.
process.stdout.on("error", endAll);
server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  process.stdout.write(`${port}\n`);
});
setInterval(() => {
  if (process.ppid !== parent) endAll();
}, 1000);
