// A registry behind a proxy that limits the size of a request, both this project's own processes on 127.0.0.1.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePorts } from "./freePorts.ts";
import { resolveTools } from "./toolchain.ts";

/** How a registry is started. */
export interface RegistryOptions {
  /** Absolute; made, and removed when the registry stops. */
  readonly folder: string;
  /** nginx' client_max_body_size in MiB; 0 = no limit. */
  readonly limitMiB: number;
  /** Answers 405 to a request with this method, as registries without chunked uploads do to PATCH. */
  readonly refusedMethod?: string;
}

/** One request as the proxy saw it. */
export interface ProxiedRequest {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** Bytes of the body as the request's header states them. */
  readonly bytes: number;
}

/** A registry that runs. */
export interface LabRegistry {
  /** host:port of the proxy in front. */
  readonly proxied: string;
  /** host:port around the proxy. */
  readonly direct: string;
  /** Every request that the proxy has answered so far, in order. */
  readonly requests: () => Promise<readonly ProxiedRequest[]>;
  readonly stop: () => Promise<void>;
}

/** Seconds that both together may take to answer; they take less than one. */
const START_SECONDS = 20;

/**
 * Starts a registry (distribution) and an nginx in front of it.
 * @throws Error that says what to install when there is no nginx, or with the log when one of them does not start
 */
export async function startRegistry(options: RegistryOptions): Promise<LabRegistry> {
  const { folder } = options;
  const nginx = findNginx(process.env.PATH ?? "");
  const tools = await resolveTools(["registry"]);
  const [proxyPort = 0, registryPort = 0] = await freePorts(2);
  await mkdir(folder, { recursive: true });
  const log = join(folder, "access.log");
  await writeFile(join(folder, "registry.yaml"), registryConfig(folder, registryPort));
  await writeFile(join(folder, "nginx.conf"), proxyConfig(options, proxyPort, registryPort));
  await writeFile(log, "");
  const children = [
    start(tools.registry, ["serve", join(folder, "registry.yaml")]),
    start(nginx, ["-p", folder, "-e", join(folder, "error.log"), "-c", join(folder, "nginx.conf")]),
  ];
  // Also when the tests fail halfway: nothing of this outlives the process that started it.
  const kill = (): void => {
    for (const { process: child } of children) child.kill("SIGKILL");
  };
  process.once("exit", kill);
  const stop = async (): Promise<void> => {
    process.removeListener("exit", kill);
    await Promise.all(children.map(end));
    await rm(folder, { recursive: true, force: true });
  };
  const proxied = `127.0.0.1:${proxyPort}`;
  try {
    await answers(`http://${proxied}/v2/`, children);
  } catch (error) {
    await stop();
    throw error;
  }
  // The question whether it runs is none of the test's requests.
  const own = (await requestsIn(log)).length;
  return {
    proxied,
    direct: `127.0.0.1:${registryPort}`,
    requests: async () => (await requestsIn(log)).slice(own),
    stop,
  };
}

/** Debian keeps nginx where only root's PATH looks. */
function findNginx(path: string): string {
  const found = [...path.split(delimiter), "/usr/sbin"]
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, "nginx"))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
  if (found !== undefined) return found;
  throw new Error(
    "nginx: not found; install it (Debian, Ubuntu: apt-get install nginx). The system's service is not used " +
      "and need not run",
  );
}

function registryConfig(folder: string, port: number): string {
  return JSON.stringify({
    version: "0.1",
    log: { level: "error", accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: join(folder, "data") } },
    // Signs the state of unfinished uploads; this registry is gone after its test.
    http: { addr: `127.0.0.1:${port}`, secret: "lab" },
  });
}

/** One process that writes below the folder alone: no service, no other user, no file of the system's nginx. */
function proxyConfig(
  { folder, limitMiB, refusedMethod }: RegistryOptions,
  port: number,
  registryPort: number,
): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `  ${name}_temp_path ${join(folder, name)};`)
    .join("\n");
  const refusal =
    refusedMethod === undefined ? "" : `if ($request_method = ${refusedMethod}) { return 405; }`;
  return `daemon off;
master_process off;
pid ${join(folder, "nginx.pid")};
error_log ${join(folder, "error.log")};
events {}
http {
  log_format requests '$request_method $uri $status $http_content_length';
  access_log ${join(folder, "access.log")} requests;
${temporary}
  server {
    listen 127.0.0.1:${port};
    client_max_body_size ${limitMiB}m;
    ${refusal}
    location / {
      proxy_pass http://127.0.0.1:${registryPort};
      proxy_set_header Host $http_host;
    }
  }
}
`;
}

async function requestsIn(log: string): Promise<ProxiedRequest[]> {
  const lines = (await readFile(log, "utf8")).split("\n").filter((line) => line !== "");
  return lines.map((line) => {
    const [method = "", path = "", status = "", bytes = ""] = line.split(" ");
    // nginx writes a header that was not sent as "-".
    return { method, path, status: Number(status), bytes: bytes === "-" ? 0 : Number(bytes) };
  });
}

interface Started {
  readonly process: ChildProcess;
  readonly output: () => string;
}

function start(program: string, args: readonly string[]): Started {
  const child = spawn(program, args, {
    // It would send traces to a collector that is not there, and complain.
    env: { ...process.env, OTEL_TRACES_EXPORTER: "none" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const keep = (data: Buffer): void => {
    output = (output + data.toString()).slice(-4000);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  child.on("error", (error) => (output += error.message));
  return { process: child, output: () => output };
}

async function end({ process: child }: Started): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}

async function answers(url: string, children: readonly Started[]): Promise<void> {
  const deadline = Date.now() + START_SECONDS * 1000;
  for (;;) {
    const dead = children.find(({ process: child }) => child.exitCode !== null);
    if (dead !== undefined || Date.now() > deadline) {
      throw new Error(`no registry at ${url}: ${(dead ?? children[0])?.output() ?? ""}`);
    }
    try {
      if ((await fetch(url)).ok) return;
    } catch {
      // Not listening yet.
    }
    await sleep(50);
  }
}
