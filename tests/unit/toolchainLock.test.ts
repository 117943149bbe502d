import { expect } from "chai";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { acquireLock, type Owner } from "../../lab/toolchain/lock.ts";

const timing = { pollMs: 5, beatMs: 20, staleMs: 150 };

/** A process id of this machine that no longer lives. */
function deadPid(): number {
  return spawnSync(process.execPath, ["-e", "0"]).pid;
}

describe("toolchain lock", () => {
  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "lock-"));
    file = join(folder, "sub", "lock");
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  function acquire(seen: (Owner | undefined)[] = []) {
    return acquireLock(file, "builds etcd", (owner) => seen.push(owner), timing);
  }

  function held(owner: Owner): void {
    writeFileSync(file, JSON.stringify(owner));
  }

  it("is taken at once when nobody holds it, and leaves nothing after its release", async () => {
    const seen: (Owner | undefined)[] = [];
    const lock = await acquire(seen);
    lock.release();
    expect(seen).to.deep.equal([]);
    expect(readdirSync(join(folder, "sub"))).to.deep.equal([]);
  });

  it("waits while a living process holds it, and says for whom and what", async () => {
    const first = await acquire();
    first.describe("builds kwok");
    const seen: (Owner | undefined)[] = [];
    let isTaken = false;
    const second = acquire(seen).then((lock) => {
      isTaken = true;
      return lock;
    });
    // Longer than staleMs: the owner's signs of life keep its lock.
    await new Promise((resolve) => setTimeout(resolve, 2 * timing.staleMs));
    expect(isTaken).to.equal(false);
    expect(seen.find((owner) => owner !== undefined)).to.include({
      pid: process.pid,
      doing: "builds kwok",
    });
    first.release();
    (await second).release();
    expect(readdirSync(join(folder, "sub"))).to.deep.equal([]);
  });

  it("is taken over at once from a process that is dead", async () => {
    (await acquire()).release();
    held({ pid: deadPid(), host: hostname(), doing: "builds etcd" });
    const seen: (Owner | undefined)[] = [];
    const lock = await acquire(seen);
    expect(seen).to.deep.equal([]);
    expect(JSON.parse(readFileSync(file, "utf8"))).to.include({ pid: process.pid });
    lock.release();
  });

  for (const [name, host] of [
    ["whose process id another program has by now", hostname()],
    ["on another machine", "elsewhere"],
  ] as const) {
    it(`is taken over from an owner ${name} once it shows no sign of life`, async () => {
      (await acquire()).release();
      held({ pid: process.pid, host, doing: "builds etcd" });
      const start = performance.now();
      const lock = await acquire();
      expect(performance.now() - start).to.be.at.least(timing.staleMs);
      lock.release();
    });
  }

  it("is not removed by an owner that has lost it", async () => {
    const lost = await acquire();
    held({ pid: 1, host: "elsewhere", doing: "builds kwok" });
    lost.describe("builds etcd");
    lost.release();
    expect(JSON.parse(readFileSync(file, "utf8"))).to.deep.equal({
      pid: 1,
      host: "elsewhere",
      doing: "builds kwok",
    });
  });
});
