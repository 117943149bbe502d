import { expect } from "chai";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { freePorts } from "../../lab/freePorts.ts";
import { eventually } from "../support/lab.ts";

const FOLDER = resolve(import.meta.dirname, "../../images/clef-serve");

/** A model that does what the request's `do` says. */
const MODEL = `
import time

def load():
    return model

def model(request):
    match request.get("do"):
        case "set": return {"a": {1}}
        case "nan": return {"a": float("nan")}
        case "raise": raise RuntimeError("secret of the model")
        case "wait": time.sleep(1.5)
    return {"got": request}

def load_nothing():
    return None

not_a_function = 1
`;

interface Ended {
  readonly code: number | null;
  readonly text: string;
}

interface Server {
  readonly process: ChildProcess;
  readonly port: number;
  readonly ended: Promise<Ended>;
  /** What it has logged. */
  readonly log: () => string;
}

// The server as the pod starts it, spoken to byte by byte: a client library would repair what is tested here.
describe("server.py", function () {
  this.timeout(60_000);
  let folder: string;
  let shared: Server;
  const started: ChildProcess[] = [];

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "llm-serving-server-"));
    writeFileSync(join(folder, "tried.py"), MODEL);
    writeFileSync(join(folder, "incomplete.py"), "import nosuch_package\n");
    shared = await ready(start(await onFreePort()));
  });
  after(() => {
    for (const process of started) process.kill("SIGKILL");
    rmSync(folder, { recursive: true });
  });

  /** Starts the server. @param patience the part of the usual time for which a client may send nothing */
  function start(env: Record<string, string>, patience = 1): Server {
    const program =
      patience === 1
        ? [join(FOLDER, "server.py")]
        : ["-c", `import server; server.Handler.timeout *= ${patience}; server.main()`];
    const child = spawn("python3", program, {
      env: {
        ...process.env,
        PYTHONPATH: `${folder}:${FOLDER}`,
        PYTHONDONTWRITEBYTECODE: "1",
        CLEF_MODEL: "tried:load",
        ...env,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    started.push(child);
    let text = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    }
    const ended = once(child, "close").then(([code]) => ({ code: code as number | null, text }));
    return { process: child, port: Number(env.PORT), ended, log: () => text };
  }

  async function ready(server: Server): Promise<Server> {
    await eventually(async () => {
      const response = await fetch(`http://127.0.0.1:${server.port}/health`).catch(() => undefined);
      return response?.ok === true || undefined;
    }, 20);
    return server;
  }

  /** Sends text on one connection and returns all that comes until the server closes it or `enough` is in it. */
  async function exchange(text: string, enough?: RegExp, { port } = shared): Promise<string> {
    const socket = await opened(port);
    socket.write(text);
    const answer = await received(socket, enough);
    socket.destroy();
    return answer;
  }

  /** The status and the JSON of the one answer to a request that ends its connection. */
  async function ask(method: string, path: string, body = "", headers: readonly string[] = []) {
    const answer = await exchange(request(method, path, body, ["Connection: close", ...headers]));
    const [head = "", json = ""] = answer.split("\r\n\r\n");
    expect(head).to.include("Content-Type: application/json");
    return { status: Number(head.split(" ")[1]), head, json: json === "" ? "" : parsed(json) };
  }

  it("answers /health and /v1/systemone, several on one connection", async () => {
    const asked = request("POST", "/v1/systemone", '{"a": [1, "ä"]}');
    const answer = await exchange(request("GET", "/health") + asked + asked, /got.*[^]*got[^]*}}$/);
    expect(statuses(answer)).to.deep.equal([200, 200, 200]);
    expect(answer).to.include('{"got": {"a": [1, "\\u00e4"]}}').and.not.include("Connection:");
  });

  it("takes no request out of another's body: a known length is read, any other ends the connection", async () => {
    const inner = request("POST", "/v1/systemone", "{}");
    const last = request("GET", "/none", "", ["Connection: close"]);
    for (const [method, path, status] of [
      ["POST", "/other", 404],
      ["GET", "/health", 200],
      ["PUT", "/v1/systemone", 405],
      ["POST", "/v1/systemone", 400],
    ] as const) {
      const answer = await exchange(request(method, path, inner) + last);
      expect(statuses(answer), path).to.deep.equal([status, 404]);
    }
    for (const [header, status] of [
      ["Transfer-Encoding: chunked", 411],
      ["Content-Length: 5\r\nContent-Length: 6", 400],
      ["Content-Length: -1", 400],
      ["Content-Length: ٣", 400],
      ["Content-Length: +3", 400],
      ["Content-Length : 5", 400],
      ["Content-Length: 8388609", 413],
    ] as const) {
      const answer = await exchange(`POST /other HTTP/1.1\r\n${header}\r\n\r\n${inner}${inner}`);
      expect(statuses(answer), header).to.deep.equal([status]);
      expect(answer, header)
        .to.include("Connection: close")
        .and.match(/\{"error": ".+"\}$/);
    }
  });

  it("says which method a route takes, and answers every refusal in JSON", async () => {
    const wrong = await ask("GET", "/v1/systemone");
    expect(wrong.status).to.equal(405);
    expect(wrong.head).to.include("Allow: POST");
    expect(wrong.json).to.deep.equal({ error: "/v1/systemone takes no GET (POST)" });
    expect((await ask("DELETE", "/health")).head).to.match(/ 405 [^]*Allow: GET, HEAD\r/);
    expect((await ask("BREW", "/health")).status).to.equal(501);
    expect((await ask("GET", "/x")).json).to.deep.equal({
      error: "no route /x; there are /health and /v1/systemone",
    });
    for (const [path, status] of [
      ["/health", 200],
      ["/v1/systemone", 405],
    ] as const) {
      // An answer to HEAD has the headers alone.
      expect(await ask("HEAD", path)).to.include({ status, json: "" });
    }
  });

  for (const line of ["garbage", "GET /health HTTP/x", `GET /${"x".repeat(70_000)} HTTP/1.1`]) {
    it(`answers ${line.slice(0, 20)} with a status and JSON, and stays`, async () => {
      const answer = await exchange(`${line}\r\n\r\n`);
      expect(answer)
        .to.match(/^HTTP\/1\.1 4(00|14) /)
        .and.match(/\{"error": ".+"\}$/);
      expect((await ask("GET", "/health")).status).to.equal(200);
      expect(shared.log()).to.not.include("Traceback");
    });
  }

  const bodies: readonly (readonly [what: string, body: string])[] = [
    ["no body", ""],
    ["no JSON", "{"],
    ["no object", "[1]"],
    ["NaN", '{"a": NaN}'],
    ["Infinity", '{"a": -Infinity}'],
    ["100000 levels", '{"a":'.repeat(100_000)],
  ];
  for (const [what, body] of bodies) {
    it(`refuses a request with ${what}`, async () => {
      const { status, json } = await ask("POST", "/v1/systemone", body);
      expect(status).to.equal(400);
      expect(json)
        .to.have.property("error")
        .that.matches(/^the body is no JSON object: /);
    });
  }

  for (const [what, why] of [
    ["set", "TypeError"],
    ["nan", "ValueError"],
    ["raise", "RuntimeError"],
  ] as const) {
    it(`answers 500 and logs a line when the model's answer is ${what}`, async () => {
      const { status, json } = await ask("POST", "/v1/systemone", `{"do": "${what}"}`);
      expect(status).to.equal(500);
      expect(json).to.deep.equal({ error: `the model failed: ${why}` });
      expect(shared.log()).to.include(`the model failed: ${why}(`).and.not.include("Traceback");
    });
  }

  it("answers what is in progress after SIGTERM, accepts nothing more, and ends with 0 while others idle", async () => {
    const server = await ready(start(await onFreePort()));
    const idle = await opened(server.port);
    const answer = exchange(request("POST", "/v1/systemone", '{"do": "wait"}'), undefined, server);
    await new Promise((done) => setTimeout(done, 500));
    server.process.kill("SIGTERM");
    const gone = received(idle);
    await eventually(async () => {
      const refused = await opened(server.port).catch(() => undefined);
      refused?.destroy();
      return refused === undefined || undefined;
    }, 5);
    expect(await answer)
      .to.match(/^HTTP\/1\.1 200 /)
      .and.include('{"got": {"do": "wait"}}');
    expect(await gone).to.equal("");
    expect((await server.ended).code, server.log()).to.equal(0);
    expect(server.log()).to.not.include("Traceback");
  });

  it("lets go of a client that is silent in the middle of a request, and of no other", async () => {
    const server = await ready(start(await onFreePort(), 0.01));
    const half = "POST /v1/systemone HTTP/1.1\r\nContent-Length: 9\r\n\r\n{";
    const [head, body, slow] = await Promise.all([
      exchange("POST /v1/sys", undefined, server),
      exchange(half, undefined, server),
      // The model takes longer than a client may be silent.
      exchange(request("POST", "/v1/systemone", '{"do": "wait"}'), /}}$/, server),
    ]);
    expect([head, body]).to.deep.equal(["", ""]);
    expect(statuses(slow)).to.deep.equal([200]);
    expect(server.log()).to.include("timed out").and.not.include("Traceback");
  });

  const settings: readonly (readonly [env: Record<string, string>, says: string])[] = [
    [{ PORT: "abc" }, "PORT = 'abc': is no port (1 to 65535)"],
    [{ PORT: "99999" }, "PORT = '99999': is no port (1 to 65535)"],
    [{ PORT: "٣" }, "PORT = '٣': is no port (1 to 65535)"],
    [{ CLEF_MODEL: "" }, model("", "names no model")],
    [{ CLEF_MODEL: "100%s" }, model("100%s", "names no model")],
    [
      { CLEF_MODEL: "nosuch:load" },
      model("nosuch:load", "there is no module nosuch beside server.py or among the packages"),
    ],
    [{ CLEF_MODEL: "tried:nosuch" }, model("tried:nosuch", "module tried has no function nosuch")],
    [
      { CLEF_MODEL: "tried:not_a_function" },
      model("tried:not_a_function", "module tried has no function not_a_function"),
    ],
    [
      { CLEF_MODEL: "tried:load_nothing" },
      model("tried:load_nothing", "load_nothing returned no callable but NoneType"),
    ],
  ];
  for (const [env, says] of settings) {
    it(`says in one line: ${says.slice(0, 60)}`, async () => {
      expect(await start(env).ended).to.deep.equal({ code: 1, text: `${says}\n` });
    });
  }

  it("says in one line that the port is taken", async () => {
    const { code, text } = await start({ PORT: String(shared.port) }).ended;
    expect({ code, text }).to.deep.equal({
      code: 1,
      text: `PORT = ${shared.port}: Address already in use\n`,
    });
  });

  it("shows where the model's own module fails", async () => {
    const { code, text } = await start({ CLEF_MODEL: "incomplete:load" }).ended;
    expect(code).to.equal(1);
    expect(text).to.include("incomplete.py").and.include("No module named 'nosuch_package'");
  });
});

function model(name: string, problem: string): string {
  return `CLEF_MODEL = '${name}': ${problem} (module:function); set it in clefServe.env`;
}

/** A request as text. */
function request(method: string, path: string, body = "", headers: readonly string[] = []): string {
  const length = `Content-Length: ${Buffer.byteLength(body)}`;
  return [`${method} ${path} HTTP/1.1`, "Host: x", length, ...headers, "", body].join("\r\n");
}

function statuses(answer: string): number[] {
  return [...answer.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status));
}

function parsed(json: string): unknown {
  return JSON.parse(json);
}

async function opened(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  return socket;
}

/** All that arrives until the connection ends, or `enough` is in it. */
async function received(socket: Socket, enough?: RegExp): Promise<string> {
  let text = "";
  for await (const chunk of socket) {
    text += String(chunk);
    if (enough?.test(text) === true) break;
  }
  return text;
}

async function onFreePort(): Promise<{ readonly PORT: string }> {
  const [port = 0] = await freePorts(1);
  return { PORT: String(port) };
}
