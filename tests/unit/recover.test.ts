import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { homedir, hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import {
  blockers,
  type Findings,
  findingLines,
  isClean,
  pendingOperations,
} from "../../recover/findings.ts";
import { type Lock, lockFolder, locksIn } from "../../recover/locks.ts";
import { endAll, processOf } from "../../recover/processes.ts";

const LOCK: Lock = {
  pid: 123,
  username: "ada",
  hostname: "here",
  timestamp: "2026-11-04T10:00:00Z",
  holder: "dead",
};
const NOTHING: Findings = { locks: [], pending: [], orphans: [] };

describe("findings of recovery", () => {
  it("are clean without any, and where the backend cannot be looked at", () => {
    expect(isClean(NOTHING)).to.equal(true);
    expect(isClean({ ...NOTHING, locks: undefined })).to.equal(true);
    expect(findingLines({ ...NOTHING, locks: undefined })).to.deep.equal([
      "locks: not looked at, the backend is not on this machine; the refresh says if it is locked",
    ]);
  });

  it("say of each thing what will be done about it", () => {
    const found: Findings = {
      locks: [LOCK],
      pending: [
        { type: "creating", urn: "urn:pulumi:dev::llm-serving::a$b::x" },
        { type: "updating", urn: "urn:pulumi:dev::llm-serving::a$b::y" },
      ],
      orphans: [{ pid: 7, parent: 1, command: ["/p/pulumi-resource-kubernetes", "127.0.0.1:9"] }],
    };
    expect(isClean(found)).to.equal(false);
    expect(blockers(found)).to.deep.equal([]);
    expect(findingLines(found)).to.deep.equal([
      "stale lock: pulumi of ada@here, pid 123, since 2026-11-04T10:00:00Z is dead; it will be removed",
      "orphaned provider: pid 7 (/p/pulumi-resource-kubernetes 127.0.0.1:9); it will be ended",
      "pending operation: creating a$b::x; it will be forgotten, and the next `up` takes over what exists",
      "pending operation: updating a$b::y; the refresh will settle it",
    ]);
  });

  it("block while a holder lives, or lives where nobody can look", () => {
    for (const holder of ["alive", "elsewhere"] as const) {
      const [blocker, ...rest] = blockers({ ...NOTHING, locks: [{ ...LOCK, holder }] });
      expect(blocker).to.match(/^pulumi of ada@here, pid 123, since /);
      expect(rest).to.deep.equal([]);
    }
  });

  it("read pending operations from an export, and none from an empty stack's", () => {
    const operation = { type: "creating", resource: { urn: "urn:x" } };
    const exported = { version: 3, deployment: { pending_operations: [operation] } };
    expect(pendingOperations(JSON.stringify(exported))).to.deep.equal([
      { type: "creating", urn: "urn:x" },
    ]);
    expect(pendingOperations('{"deployment":{}}')).to.deep.equal([]);
    expect(pendingOperations('{"deployment":null}')).to.deep.equal([]);
  });
});

describe("locks", () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "recover-"));
  });
  after(async () => {
    await rm(folder, { recursive: true });
  });

  it("are looked for in a folder alone", () => {
    const below = ".pulumi/locks/organization/llm-serving/dev";
    expect(lockFolder("file:///a%20b", "dev")).to.equal(`/a b/${below}`);
    expect(lockFolder("file://~", "dev")).to.equal(join(homedir(), below));
    for (const url of ["s3://bucket", "https://app.pulumi.com/ada"]) {
      expect(lockFolder(url, "dev")).to.equal(undefined);
    }
  });

  it("are none in a folder that does not exist", async () => {
    expect(await locksIn(join(folder, "none"))).to.deep.equal([]);
  });

  it("know a dead holder, another program with its pid, another machine, and half a file", async () => {
    const lock = { username: "ada", timestamp: "now" };
    const write = (name: string, text: string) => writeFile(join(folder, name), text);
    await write("a.json", JSON.stringify({ ...lock, pid: 2 ** 30, hostname: hostname() }));
    await write("b.json", JSON.stringify({ ...lock, pid: process.pid, hostname: hostname() }));
    await write("c.json", JSON.stringify({ ...lock, pid: process.pid, hostname: "elsewhere" }));
    await write("d.json", '{"pid":');
    await write("a.json.attrs", "{}");
    expect((await locksIn(folder)).map(({ holder }) => holder)).to.deep.equal([
      "dead",
      "dead",
      "elsewhere",
      "dead",
    ]);
  });
});

describe("processes of recovery", () => {
  it("end when asked, and are then gone", async () => {
    const child = spawn("sleep", ["60"]);
    await once(child, "spawn");
    const found = await processOf(child.pid ?? 0);
    expect(found).to.deep.include({ parent: process.pid, command: ["sleep", "60"] });
    await endAll(found === undefined ? [] : [found]);
    expect(child.signalCode ?? (await once(child, "exit"))[1]).to.equal("SIGTERM");
  });
});
