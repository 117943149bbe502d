import { expect } from "chai";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../support/lab.ts";
import { type Wheels, writeWheels } from "../support/wheels.ts";

const SCRIPT = resolve(import.meta.dirname, "../../images/clef-serve/packages.py");
const NAME = "packages-00000000000000aa";
const OTHER = "packages-00000000000000bb";
const KILLS = 20;

interface Ended {
  readonly code: number | null;
  readonly text: string;
}

interface Run {
  readonly pid: number;
  readonly ended: Promise<Ended>;
  readonly printed: () => string;
}

// The script that the preparing Job and the pods run, with the real pip, on a real file system.
describe("packages.py", function () {
  this.timeout(300_000);
  let folder: string;
  let wheels: Wheels;
  /** A complete folder as an undisturbed run makes it. */
  let complete: string;
  let fillMs = 0;
  let volume: string;
  const started: number[] = [];

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "llm-serving-packages-"));
    wheels = writeWheels(folder, ["small_a", "small_b"]);
    volume = join(folder, "first");
    mkdirSync(volume);
    const begin = performance.now();
    const { code, text } = await fill(NAME).ended;
    fillMs = performance.now() - begin;
    expect(code, text).to.equal(0);
    complete = join(volume, NAME);
  });
  beforeEach(() => {
    volume = mkdtempSync(join(folder, "volume-"));
  });
  afterEach(() => {
    for (const pid of started.splice(0)) killGroup(pid, "SIGKILL");
  });
  after(() => {
    rmSync(folder, { recursive: true });
  });

  /** Starts the script as a group of its own, as a container is: a kill takes pip with it. */
  function start(...args: readonly string[]): Run {
    const child = spawn("python3", [SCRIPT, ...args], {
      detached: true,
      env: { ...process.env, ...wheels.env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let text = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    }
    const ended = once(child, "close").then(([code]) => ({ code: code as number | null, text }));
    const pid = child.pid ?? 0;
    started.push(pid);
    return { pid, ended, printed: () => text };
  }
  const fill = (name: string, requirements = wheels.requirements) =>
    start("fill", volume, name, requirements);

  /** What a pod does: its program imports from the folder and prints what it found. */
  async function pod(name: string): Promise<Ended> {
    const program = join(folder, "program.py");
    writeFileSync(program, "import small_a.m59, small_b.m59; print(small_b.NAME)\n");
    const { PYTHONPATH } = process.env;
    process.env.PYTHONPATH = join(volume, name);
    try {
      return await start("run", volume, name, program).ended;
    } finally {
      if (PYTHONPATH === undefined) delete process.env.PYTHONPATH;
      else process.env.PYTHONPATH = PYTHONPATH;
    }
  }

  const names = () => readdirSync(volume).sort();
  const visible = () => names().filter((name) => !name.startsWith("."));

  /** Puts a complete folder on the volume that a Job asked for some hours ago. */
  function aged(name: string, hours: number): void {
    cpSync(complete, join(volume, name), { recursive: true });
    const time = Date.now() / 1000 - hours * 3600;
    utimesSync(join(volume, name, ".lock"), time, time);
  }

  it("fills a folder with everything that pip installs, compiled, and leaves nothing beside it", () => {
    volume = join(folder, "first");
    expect(names()).to.deep.equal([NAME]);
    const files = contentOf(complete);
    expect(files.get("small_a/m59.py")).to.match(/^VALUE = 59\n/);
    // A read-only mount takes no byte code later.
    expect([...files.keys()].filter((path) => path.endsWith(".pyc"))).to.have.length(122);
    expect(readdirSync(complete)).to.not.include(".tmp");
  });

  it("asks pip for nothing once the folder is there", async () => {
    aged(NAME, 5);
    const { code, text } = await fill(NAME, "/no/such/requirements.txt").ended;
    expect(code, text).to.equal(0);
    expect(text).to.equal(`${join(volume, NAME)}: is there already\n`);
  });

  it(`leaves no folder that a pod would use when it is killed at ${KILLS} random moments`, async function () {
    this.timeout(300_000);
    const wanted = contentOf(complete);
    let halfway = 0;
    for (let kill = 1; kill <= KILLS; kill++) {
      // Old ones beside it, so that a kill can also find the cleaner at work.
      for (const at of [2, 3, 4]) aged(`packages-000000000000000${at}`, at * 24);
      const moment = Math.random() * 1.1 * fillMs;
      const { pid, ended } = fill(NAME);
      await sleep(moment);
      killGroup(pid, "SIGKILL");
      await ended;
      const when = `kill ${kill} after ${moment.toFixed(0)} of ${fillMs.toFixed(0)} ms`;
      for (const name of visible()) {
        expect(contentOf(join(volume, name)), `${when}: ${name}`).to.deep.equal(wanted);
      }
      if (names().some((name) => name.startsWith(".packages-filling-"))) halfway += 1;
      if (!visible().includes(NAME)) {
        expect((await pod(NAME)).text, when).to.include("does not exist");
      }
      // What a kill left lies there for the next one, but for what is complete.
      for (const name of visible()) rmSync(join(volume, name), { recursive: true });
    }
    expect(halfway).to.be.greaterThan(KILLS / 4);
    const { code, text } = await fill(NAME).ended;
    expect(code, text).to.equal(0);
    expect(names()).to.deep.equal([NAME]);
    expect(await pod(NAME)).to.deep.equal({ code: 0, text: "small_b\n" });
  });

  it("lets two preparers of one folder run at once: one folder, both content", async () => {
    const both = await Promise.all([fill(NAME).ended, fill(NAME).ended]);
    expect(both.map(({ code }) => code)).to.deep.equal([0, 0]);
    expect(names()).to.deep.equal([NAME]);
    expect(contentOf(join(volume, NAME))).to.deep.equal(contentOf(complete));
  });

  it("lets two preparers of different folders run at once: neither takes anything from the other", async () => {
    const both = await Promise.all([fill(NAME).ended, fill(OTHER).ended]);
    expect(both.map(({ code }) => code)).to.deep.equal([0, 0]);
    expect(names()).to.deep.equal([NAME, OTHER]);
    for (const name of [NAME, OTHER]) {
      expect(contentOf(join(volume, name)), name).to.deep.equal(contentOf(complete));
    }
  });

  it("leaves a folder alone that a living preparer fills, however slowly, and takes a dead one's", async () => {
    const slow = fill(NAME);
    await eventually(() =>
      Promise.resolve(names().some((name) => name.startsWith(".packages-filling-")) || undefined),
    );
    await sleep(50);
    killGroup(slow.pid, "SIGSTOP");
    expect((await fill(OTHER).ended).code).to.equal(0);
    killGroup(slow.pid, "SIGCONT");
    expect((await slow.ended).code).to.equal(0);
    expect(names()).to.deep.equal([NAME, OTHER]);

    mkdirSync(join(volume, ".packages-filling-dead", "small_a"), { recursive: true });
    expect((await fill(NAME).ended).code).to.equal(0);
    expect(names()).to.deep.equal([NAME, OTHER]);
  });

  it("keeps the last two, what a pod uses and what was asked for within the hour; foreign folders always", async () => {
    for (const [at, hours] of [30, 20, 10, 5, 0.5].entries()) {
      aged(`packages-000000000000000${at}`, hours);
    }
    mkdirSync(join(volume, "lost+found"));
    const program = join(folder, "sleeps.py");
    writeFileSync(program, "print('up', flush=True)\nimport time; time.sleep(60)\n");
    const oldest = "packages-0000000000000000";
    const server = start("run", volume, oldest, program);
    await eventually(() => Promise.resolve(server.printed() === "up\n" || undefined));
    expect((await fill(NAME).ended).code).to.equal(0);
    expect(names()).to.deep.equal(["lost+found", oldest, "packages-0000000000000004", NAME]);
    killGroup(server.pid, "SIGKILL");
    await server.ended;
    expect((await fill(NAME).ended).code).to.equal(0);
    expect(names()).to.deep.equal(["lost+found", "packages-0000000000000004", NAME]);
  });

  it("counts a folder that is asked for again as the newest: the way back is taken, not made anew", async () => {
    for (const [at, hours] of [30, 20, 10].entries()) aged(`packages-000000000000000${at}`, hours);
    const { code, text } = await fill("packages-0000000000000000").ended;
    expect(code, text).to.equal(0);
    expect(text).to.include("is there already");
    expect(names()).to.deep.equal(["packages-0000000000000000", "packages-0000000000000002"]);
  });

  it("fails with pip's reason and leaves nothing when a hash is not the lock's", async () => {
    const requirements = join(folder, "wrong.txt");
    writeFileSync(requirements, `small_a==1.0 --hash=sha256:${"0".repeat(64)}\n`);
    const { code, text } = await fill(NAME, requirements).ended;
    expect(code).to.not.equal(0);
    expect(text).to.include("DO NOT MATCH THE HASHES").and.include("no such folder was made");
    expect(names()).to.deep.equal([]);
  });

  it("refuses a package without a hash, whatever else the file says", async () => {
    const requirements = join(folder, "unhashed.txt");
    writeFileSync(requirements, "small_a==1.0\n");
    const { code, text } = await fill(NAME, requirements).ended;
    expect(code).to.not.equal(0);
    expect(text).to.include("Hashes are required");
    expect(names()).to.deep.equal([]);
  });

  it("refuses a lock that names nothing or is missing, and makes no folder", async () => {
    const requirements = join(folder, "empty.txt");
    for (const content of ["", "# small_a==1.0\n\n"]) {
      writeFileSync(requirements, content);
      expect(await fill(NAME, requirements).ended).to.deep.equal({
        code: 1,
        text: `${requirements}: names no package; lock requirements.in into it again (docs/cold-start.md, The lock)\n`,
      });
    }
    const missing = await fill(NAME, join(folder, "none.txt")).ended;
    expect(missing.code).to.equal(1);
    expect(missing.text).to.match(/^fill .*: .*No such file or directory: '.*none\.txt'\n$/);
    expect(names()).to.deep.equal([]);
  });

  const strangers: readonly (readonly [what: string, make: (path: string) => void])[] = [
    [
      "a file",
      (path) => {
        writeFileSync(path, "");
      },
    ],
    ["a folder without .lock", (path) => mkdirSync(join(path, "small_a"), { recursive: true })],
    [
      "a link to /no/such/place",
      (path) => {
        symlinkSync("/no/such/place", path);
      },
    ],
    [
      `a link to ${tmpdir()}`,
      (path) => {
        symlinkSync(tmpdir(), path);
      },
    ],
  ];
  for (const [what, make] of strangers) {
    it(`says before pip's work, and to a pod, that ${what} has the folder's name, and leaves it`, async () => {
      const path = join(volume, NAME);
      make(path);
      const text =
        `${path}: is ${what}, no folder of packages; move it away or delete it, then run ` +
        "`pulumi up --refresh`\n";
      expect(await fill(NAME).ended).to.deep.equal({ code: 1, text });
      expect(await pod(NAME)).to.deep.equal({ code: 1, text });
      expect(names()).to.deep.equal([NAME]);
    });
  }

  for (const [signal, exit] of [
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const) {
    it(`ends at once on ${signal}, in one line, and takes its folder with it`, async () => {
      const { pid, ended } = fill(NAME);
      const atWork = () => names().some((name) => readdirSync(join(volume, name)).includes(".tmp"));
      await eventually(() => Promise.resolve(atWork() || undefined));
      // To the script alone, as the kubelet does it.
      process.kill(pid, signal);
      const { code, text } = await ended;
      expect(code).to.equal(exit);
      expect(text)
        .to.include(`ended by ${signal}; no unfinished folder stays\n`)
        .and.not.include("Traceback");
      expect(names()).to.deep.equal([]);
    });
  }

  it("says what is missing when a pod's folder is not there, and becomes the program when it is", async () => {
    const missing = await pod(NAME);
    expect(missing.code).to.equal(1);
    expect(missing.text).to.include(`${join(volume, NAME)}: does not exist; the Job that fills it`);
    aged(NAME, 1);
    expect(await pod(NAME)).to.deep.equal({ code: 0, text: "small_b\n" });
  });

  it("takes no name that its own cleaning would not know, and no other words", async () => {
    const foreign = await fill("models").ended;
    expect(foreign.code).to.equal(1);
    expect(foreign.text).to.match(/^NAME = models: /);
    expect((await start("fill", volume).ended).text).to.match(/^usage: packages\.py /);
    expect(names()).to.deep.equal([]);
  });
});

/** Ends or stops a process with all that it started; nothing happens when it has ended. */
function killGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Every file below a folder by its path, but for the lock. Byte code names the folder it was compiled in. */
function contentOf(folder: string): Map<string, unknown> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== ".lock")
    .map((entry) => join(entry.parentPath, entry.name));
  return new Map(
    files.sort().map((file) => {
      const text = readFileSync(file, "latin1");
      return [file.slice(folder.length + 1), file.endsWith(".pyc") ? text.length > 0 : text];
    }),
  );
}
