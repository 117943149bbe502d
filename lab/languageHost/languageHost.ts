// A stand-in for pulumi-language-nodejs where the official one is not installed: the LanguageRuntime
// service as far as `preview`, `up`, `destroy`, `refresh` and policy packs use it. The CLI starts it in
// the program's folder, with the engine's address as the last argument, and reads the port from stdout.
// It runs from a copy outside the clone, so it must stay one file, and finds gRPC through the program.
import { spawn, type ChildProcess, type StdioOptions } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import type * as grpcTypes from "@grpc/grpc-js";
import type * as services from "@pulumi/pulumi/proto/language_grpc_pb.js";
import type * as messages from "@pulumi/pulumi/proto/language_pb.js";
import type * as plugins from "@pulumi/pulumi/proto/plugin_pb.js";
import type * as empty from "google-protobuf/google/protobuf/empty_pb.js";

/** Exit code by which a program says that it has already told the user why it failed. */
const alreadyReported = 32;
const engineAddress = process.argv.at(-1) ?? "";

const load = createRequire(join(process.cwd(), "languageHost.js"));
const fromPulumi = createRequire(load.resolve("@pulumi/pulumi"));
const grpc = fromPulumi("@grpc/grpc-js") as typeof grpcTypes;
const pb = load("@pulumi/pulumi/proto/language_pb.js") as typeof messages;
const { PluginInfo } = load("@pulumi/pulumi/proto/plugin_pb.js") as typeof plugins;
const { Empty } = fromPulumi("google-protobuf/google/protobuf/empty_pb.js") as typeof empty;
const { LanguageRuntimeService } = load(
  "@pulumi/pulumi/proto/language_grpc_pb.js",
) as typeof services;

/** Programs and policy packs that run now. */
const running = new Set<ChildProcess>();

function start(
  runner: "run" | "run-policy-pack" | "run-plugin",
  info: messages.ProgramInfo | undefined,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv; readonly stdio: StdioOptions },
): ChildProcess {
  const folder = info?.getProgramDirectory() ?? options.cwd;
  const script = createRequire(join(folder, "index.js")).resolve(`@pulumi/pulumi/cmd/${runner}`);
  // As in the official host, TypeScript is compiled by the SDK unless the project says otherwise.
  const isCompiled = info?.getOptions()?.toJavaScript().typescript !== false;
  const env = { ...options.env, PULUMI_NODEJS_TYPESCRIPT: `${isCompiled}` };
  const child = spawn(process.execPath, [script, ...args], { ...options, env });
  running.add(child);
  child.once("close", () => running.delete(child));
  return child;
}

/** The exit code, or -1 where the process was killed or could not start. */
function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once("close", (code) => {
      resolve(code ?? -1);
    });
    child.once("error", () => {
      resolve(-1);
    });
  });
}

async function run(request: messages.RunRequest): Promise<messages.RunResponse> {
  const flags = {
    monitor: request.getMonitorAddress(),
    engine: engineAddress,
    organization: request.getOrganization(),
    project: request.getProject(),
    stack: request.getStack(),
    pwd: request.getPwd(),
    "root-directory": request.getInfo()?.getRootDirectory(),
    parallel: String(request.getParallel()),
  };
  const args = Object.entries(flags).flatMap(([flag, value]) =>
    value === undefined || value === "" ? [] : [`--${flag}`, value],
  );
  if (request.getDryrun()) args.push("--dry-run");
  const program = request.getInfo()?.getEntryPoint() ?? request.getProgram();
  const env = {
    ...process.env,
    PULUMI_CONFIG: JSON.stringify(Object.fromEntries(request.getConfigMap().toArray())),
    PULUMI_CONFIG_SECRET_KEYS: JSON.stringify(request.getConfigsecretkeysList()),
  };
  // Output goes straight to this host's own, from which the CLI reads it.
  const stdio = ["ignore", "inherit", "inherit"] as const;
  const child = start(
    "run",
    request.getInfo(),
    [...args, program === "" ? "." : program, ...request.getArgsList()],
    { cwd: process.cwd(), env, stdio: [...stdio] },
  );
  const code = await exitOf(child);
  const response = new pb.RunResponse();
  if (code === alreadyReported) response.setBail(true);
  else if (code !== 0) response.setError(`Program exited with non-zero exit code: ${code}`);
  return response;
}

async function runPlugin(
  call: grpcTypes.ServerWritableStream<messages.RunPluginRequest, messages.RunPluginResponse>,
): Promise<number> {
  const { request } = call;
  const info = request.getInfo();
  const env = Object.fromEntries(
    request.getEnvList().map((entry) => {
      const [name = "", ...value] = entry.split("=");
      return [name, value.join("=")];
    }),
  );
  const runner = request.getKind() === "resource" ? "run-plugin" : "run-policy-pack";
  const args = [...request.getArgsList(), info?.getProgramDirectory() ?? request.getProgram()];
  const child = start(runner, info, args, {
    cwd: request.getPwd(),
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stdout?.on("data", (data: Buffer) => {
    const response = new pb.RunPluginResponse();
    response.setStdout(data);
    call.write(response);
  });
  child.stderr?.on("data", (data: Buffer) => {
    const response = new pb.RunPluginResponse();
    response.setStderr(data);
    call.write(response);
  });
  // The CLI ends a plugin by cancelling the call.
  call.on("cancelled", () => child.kill());
  return exitOf(child);
}

function killAll(): void {
  for (const child of running) child.kill();
}

/** Answers a call from a function; an exception becomes the call's error. */
function unary<Request, Response>(
  answer: (request: Request) => Response | Promise<Response>,
): grpcTypes.handleUnaryCall<Request, Response> {
  return (call, callback) => {
    (async () => answer(call.request))().then(
      (response) => {
        callback(null, response);
      },
      (error: unknown) => {
        callback({ code: grpc.status.UNKNOWN, details: messageOf(error) });
      },
    );
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// What is not listed here, such as InstallDependencies, gRPC answers with UNIMPLEMENTED.
const server = new grpc.Server({ "grpc.max_receive_message_length": -1 });
server.addService(LanguageRuntimeService, {
  handshake: unary(() => new pb.LanguageHandshakeResponse()),
  getPluginInfo: unary(() => {
    const { version } = load("@pulumi/pulumi/package.json") as { version: string };
    return new PluginInfo().setVersion(version);
  }),
  // The program's plugins are in PULUMI_HOME already: nothing to look for in node_modules.
  getRequiredPlugins: unary(() => new pb.GetRequiredPluginsResponse()),
  getRequiredPackages: unary(() => new pb.GetRequiredPackagesResponse()),
  about: unary(() =>
    new pb.AboutResponse().setExecutable(process.execPath).setVersion(process.version),
  ),
  run: unary(run),
  runPlugin: (
    call: grpcTypes.ServerWritableStream<messages.RunPluginRequest, messages.RunPluginResponse>,
  ) => {
    runPlugin(call).then(
      (code) => {
        call.end(new pb.RunPluginResponse().setExitcode(code));
      },
      (error: unknown) => {
        call.emit("error", { code: grpc.status.UNKNOWN, details: messageOf(error) });
      },
    );
  },
  cancel: unary(() => {
    killAll();
    return new Empty();
  }),
});

server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  console.log(port);
});

// A killed CLI cannot say goodbye: without this the host, and a hanging program, would stay for ever.
const parent = process.ppid;
setInterval(() => {
  if (process.ppid === parent) return;
  killAll();
  process.exit(1);
}, 1000).unref();
