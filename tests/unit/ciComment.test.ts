import { expect } from "chai";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { commentBody } from "../../ci/commentBody.ts";
import { type ForgeTarget, stickyComment } from "../../ci/forge.ts";
import { freePorts } from "../../lab/freePorts.ts";

interface Comment {
  id: number;
  body: string;
}

const repository = resolve(import.meta.dirname, "..", "..");
const KEY = "<!-- llm-serving review of prod -->";
const TOKEN = "canary-token";

/** A forge as far as comments are concerned: GitHub's pages of two, or Gitea's single one. */
class Forge {
  readonly comments: Comment[];
  readonly seen: string[] = [];
  readonly #server: Server;
  readonly #paged: boolean;

  constructor(bodies: readonly string[], paged: boolean) {
    this.comments = bodies.map((body, at) => ({ id: at + 1, body }));
    this.#paged = paged;
    this.#server = createServer((request, response) => {
      let text = "";
      request.on("data", (data: Buffer) => (text += data.toString()));
      request.on("end", () => {
        const { method = "", url = "", headers } = request;
        this.seen.push(`${method} ${url}`);
        if (headers.authorization !== `token ${TOKEN}`) {
          response.writeHead(403).end("{}");
          return;
        }
        const { body } = (text === "" ? { body: "" } : JSON.parse(text)) as { body: string };
        const [, id] = /^\/repos\/llm\/serving\/issues\/comments\/(\d+)$/.exec(url) ?? [];
        const path = url.split("?")[0];
        if (method === "PATCH" && id !== undefined) {
          const found = this.comments.find((comment) => comment.id === Number(id));
          if (found !== undefined) found.body = body;
          response.end("{}");
        } else if (method === "POST" && path === "/repos/llm/serving/issues/7/comments") {
          this.comments.push({ id: this.comments.length + 1, body });
          response.writeHead(201).end("{}");
        } else if (method === "GET" && path === "/repos/llm/serving/issues/7/comments") {
          this.#list(url, (headers, list) =>
            response.writeHead(200, headers).end(JSON.stringify(list)),
          );
        } else {
          response.writeHead(404).end("{}");
        }
      });
    });
  }

  #list(url: string, answer: (headers: Record<string, string>, list: Comment[]) => void): void {
    if (!this.#paged) {
      answer({}, this.comments);
      return;
    }
    const page = Number(/[?&]page=(\d+)/.exec(url)?.[1] ?? 1);
    const rest = this.comments.slice(page * 2);
    const next = `<${this.url}/repos/llm/serving/issues/7/comments?page=${page + 1}>; rel="next"`;
    answer(rest.length > 0 ? { link: next } : {}, this.comments.slice(page * 2 - 2, page * 2));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async start(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  target(token = TOKEN): ForgeTarget {
    return { api: this.url, repository: "llm/serving", change: 7, token };
  }
}

describe("sticky comment", () => {
  let forge: Forge | undefined;
  const forgeWith = async (bodies: readonly string[], paged: boolean): Promise<Forge> =>
    (forge = await new Forge(bodies, paged).start());
  afterEach(async () => forge?.stop());

  for (const paged of [true, false]) {
    it(`is written once and replaced from then on, ${paged ? "over pages" : "without pages"}`, async () => {
      const others = ["first", `quoting:\n${KEY}`, "third"];
      const own = await forgeWith(others, paged);
      expect(await stickyComment(own.target(), `${KEY}\none`)).to.equal("written");
      expect(await stickyComment(own.target(), `${KEY}\ntwo`)).to.equal("replaced");
      expect(own.comments.map(({ body }) => body)).to.deep.equal([...others, `${KEY}\ntwo`]);
    });
  }

  it("knows its comment by a first line that the forge has ended otherwise", async () => {
    const own = await forgeWith([`${KEY}\r\nold`], false);
    await stickyComment(own.target(), `${KEY}\nnew`);
    expect(own.comments.map(({ body }) => body)).to.deep.equal([`${KEY}\nnew`]);
  });

  it("A19 says which right is missing, and never the token", async () => {
    const target = (await forgeWith([], false)).target("wrong-canary");
    let message = "";
    try {
      await stickyComment(target, `${KEY}\nx`);
    } catch (error) {
      message = String(error);
    }
    expect(message).to.include("the forge answers 403; the job's token needs the right to write");
    expect(message).not.to.include("canary");
  });
});

describe("a forge that does not answer", () => {
  it("is named by the request and the reason, never with the token", async () => {
    const [port = 0] = await freePorts(1);
    const target: ForgeTarget = {
      api: `http://127.0.0.1:${port}`,
      repository: "llm/serving",
      change: 7,
      token: TOKEN,
    };
    const error = await stickyComment(target, `${KEY}\nx`).catch((reason: unknown) => reason);
    expect(String(error)).to.equal(
      `Error: GET http://127.0.0.1:${port}/repos/llm/serving/issues/7/comments?per_page=100: no answer of the forge: ` +
        `connect ECONNREFUSED 127.0.0.1:${port}; look whether GITHUB_API_URL is right and this runner reaches it, ` +
        "then run the job again",
    );
  });
});

describe("something else than a forge's API", () => {
  it("is named by the request where it answers with a page", async () => {
    const server = createServer((_, response) => response.end("<html>")).listen(0, "127.0.0.1");
    await once(server, "listening");
    const api = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const target: ForgeTarget = { api, repository: "llm/serving", change: 7, token: TOKEN };
    const error = await stickyComment(target, KEY).catch((reason: unknown) => reason);
    server.closeAllConnections();
    server.close();
    expect(String(error)).to.equal(
      `Error: GET ${api}/repos/llm/serving/issues/7/comments?per_page=100: the answer is no list of comments; look ` +
        "whether GITHUB_API_URL is the address of the forge's API",
    );
  });
});

describe("make comment", () => {
  const stack = "test-comment";
  const reports = join(repository, ".review", stack);
  let forge: Forge;
  let event: string;
  before(async () => {
    forge = await new Forge([], false).start();
    mkdirSync(reports, { recursive: true });
    event = join(reports, "event.json");
  });
  after(async () => {
    rmSync(reports, { recursive: true });
    await forge.stop();
  });

  /** Runs it with what a forge gives a job, or with something else. */
  async function run(changes: Readonly<Record<string, string>> = {}) {
    const variables = {
      PATH: process.env.PATH ?? "",
      GITHUB_API_URL: forge.url,
      GITHUB_SERVER_URL: "https://forge.example",
      GITHUB_REPOSITORY: "llm/serving",
      GITHUB_RUN_ID: "3",
      GITHUB_EVENT_PATH: event,
      GITHUB_TOKEN: TOKEN,
    };
    const child = spawn(process.execPath, ["ci/comment.ts", `--stack=${stack}`], {
      cwd: repository,
      env: { ...variables, ...changes },
    });
    let text = "";
    child.stdout.on("data", (data: Buffer) => (text += data.toString()));
    child.stderr.on("data", (data: Buffer) => (text += data.toString()));
    const [code] = (await once(child, "close")) as [number];
    return { code, text };
  }

  it("posts what review and rehearse wrote below the change of the event", async () => {
    writeFileSync(event, JSON.stringify({ pull_request: { number: 7 } }));
    expect((await run()).text).to.match(/report\.md does not exist; run `make review STACK=/);
    writeFileSync(join(reports, "report.md"), `${KEY}\n## prod: safe\n`);
    writeFileSync(join(reports, "rehearsal.md"), "## Rehearsal: passed\n");
    expect(await run()).to.deep.equal({ code: 0, text: "comment on change 7: written\n" });
    expect(forge.comments.map(({ body }) => body)).to.deep.equal([
      `${KEY}\n## prod: safe\n\n## Rehearsal: passed\n\n` +
        "[The run, with its pictures](https://forge.example/llm/serving/actions/runs/3)\n",
    ]);
  });

  it("says in one line what is missing outside of a change's job", async () => {
    writeFileSync(event, "{}");
    const elsewhere = await run();
    expect(elsewhere.code).to.equal(1);
    expect(elsewhere.text).to.equal(
      "this job runs for no change (pull request): there is nothing to comment on\n",
    );
    const remedy =
      "(the forge's file on the event, JSON); run this in a job of CI, of a change; see docs/ci.md\n";
    expect((await run({ GITHUB_EVENT_PATH: "/nosuch" })).text).to.equal(
      `GITHUB_EVENT_PATH = /nosuch: cannot be read: ENOENT ${remedy}`,
    );
    writeFileSync(event, "{ broken");
    expect((await run()).text).to.equal(`GITHUB_EVENT_PATH = ${event}: is no JSON ${remedy}`);
    writeFileSync(event, "null");
    expect((await run()).text).to.equal(elsewhere.text);
    writeFileSync(event, JSON.stringify({ pull_request: { number: 7 } }));
    const text = "GITHUB_TOKEN is not set: this is for a job of CI, of a change; see docs/ci.md\n";
    expect(await run({ GITHUB_TOKEN: "" })).to.deep.equal({ code: 1, text });
  });
});

describe("comment body", () => {
  const runUrl = "https://forge.example/llm/serving/actions/runs/3";
  const report = `${KEY}\n## prod: restarts pods\n\n![Timeline](rehearsal.svg) ![kept](https://x.example/a.svg)`;

  it("begins with the key, links to the run, and shows no picture that a comment cannot load", () => {
    expect(commentBody({ report, rehearsal: "# Rehearsal\n", runUrl })).to.equal(
      `${KEY}\n## prod: restarts pods\n\n[Timeline](${runUrl}) ![kept](https://x.example/a.svg)\n\n# Rehearsal\n\n` +
        `[The run, with its pictures](${runUrl})\n`,
    );
  });

  it("is the report alone where nothing was rehearsed", () => {
    const body = commentBody({ report: KEY, rehearsal: undefined, runUrl });
    expect(body).to.equal(`${KEY}\n\n[The run, with its pictures](${runUrl})\n`);
  });

  it("leaves a rehearsal out that makes it longer than a forge takes, and says so", () => {
    const long = `${KEY}\n${"x".repeat(59_000)}`;
    const fits = commentBody({ report: long, rehearsal: "y".repeat(5000), runUrl });
    expect(fits).to.include("yyy");
    const body = commentBody({ report: long, rehearsal: "y".repeat(7000), runUrl });
    expect(body.length).to.be.lessThan(65_536);
    expect(body).not.to.include("yyy");
    expect(body).to.include("The rehearsal's report is too long for a comment");
  });
});
