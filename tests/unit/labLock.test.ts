import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { withFileLock } from "../../lab/lock.ts";

const messageOf = (run: Promise<unknown>): Promise<string> =>
  run.then(
    () => "no error",
    (error: unknown) => String(error),
  );

describe("withFileLock", () => {
  let folder: string;
  let file: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "lock-"));
    file = join(folder, "lock");
  });
  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  it("lets one in at a time and says once that it waits", async () => {
    const events: string[] = [];
    const enter = (who: string) =>
      withFileLock(
        file,
        async () => {
          events.push(`${who} in`);
          await sleep(250);
          events.push(`${who} out`);
        },
        { onWait: () => events.push(`${who} waits`), timeoutSeconds: 10 },
      );
    await Promise.all([enter("a"), enter("b")]);
    const [first, second] = events[0] === "a in" ? ["a", "b"] : ["b", "a"];
    expect(events).to.deep.equal(
      ["first in", "second waits", "first out", "second in", "second out"].map((event) =>
        event.replace("first", first).replace("second", second),
      ),
    );
  });

  it("gives up after its time and names the file", async () => {
    const second = () =>
      messageOf(withFileLock(file, () => Promise.resolve(), { timeoutSeconds: 0.2 }));
    expect(await withFileLock(file, second, { timeoutSeconds: 1 })).to.equal(
      `Error: ${file} is locked by another process for 0.2 s`,
    );
  });

  it("ends the wait when it is told to", async () => {
    const signal = AbortSignal.timeout(50);
    const second = () =>
      messageOf(withFileLock(file, () => Promise.resolve(), { timeoutSeconds: 60, signal }));
    expect(await withFileLock(file, second, { timeoutSeconds: 1 })).to.match(/^AbortError/);
  });

  it("is free again after the action fails", async () => {
    const failing = withFileLock(file, () => Promise.reject(new Error("no")), {
      timeoutSeconds: 1,
    });
    expect(await messageOf(failing)).to.equal("Error: no");
    expect(await withFileLock(file, () => Promise.resolve(7), { timeoutSeconds: 1 })).to.equal(7);
  });

  it("leaves a file alone that somebody else wrote", async () => {
    await writeFile(file, "long enough to be looked at as a database file ".repeat(30));
    const taking = withFileLock(file, () => Promise.resolve(), { timeoutSeconds: 1 });
    expect(await messageOf(taking)).to.match(/not a database/);
  });

  it("says why it cannot make the file", async () => {
    const taking = withFileLock(join(folder, "absent", "lock"), () => Promise.resolve(), {
      timeoutSeconds: 1,
    });
    expect(await messageOf(taking)).to.match(/ENOENT.*absent/);
  });
});
