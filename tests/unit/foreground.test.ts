import { expect } from "chai";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { foreground } from "../../lab/foreground.ts";

describe("foreground", () => {
  it("passes the exit code on, and is 1 when a signal ended the program", async () => {
    expect(await foreground("sh", ["-c", "exit 3"], process.env)).to.equal(3);
    expect(await foreground("sh", ["-c", "kill -9 $$"], process.env)).to.equal(1);
  });

  it("fails when the program cannot be started", async () => {
    const error = await foreground("no-such-program", [], process.env).catch((e: unknown) => e);
    expect(error).to.be.an("error").with.property("message").that.includes("no-such-program");
  });

  it("passes SIGTERM on, which the program does not get by itself", async () => {
    const program = `trap "echo saved; exit 7" TERM; echo ready; while :; do sleep 0.1; done`;
    const script = `import { foreground } from "${import.meta.resolve("../../lab/foreground.ts")}";
      process.exitCode = await foreground("sh", ["-c", ${JSON.stringify(program)}], process.env);`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let printed = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
      if (text.includes("ready")) child.kill("SIGTERM");
    });
    const [code] = (await once(child, "close")) as [number | null];
    expect([code, printed]).to.deep.equal([7, "ready\nsaved\n"]);
  });

  it("lets the program end in its own time after Ctrl-C, which the whole group gets", async () => {
    const program = `trap "echo saved; exit 7" INT; echo ready; while :; do sleep 0.1; done`;
    const script = `import { foreground } from "${import.meta.resolve("../../lab/foreground.ts")}";
      process.exitCode = await foreground("sh", ["-c", ${JSON.stringify(program)}], process.env);`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
      detached: true,
      stdio: ["ignore", "pipe", "inherit"],
    });
    let printed = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
      if (text.includes("ready") && child.pid !== undefined) process.kill(-child.pid, "SIGINT");
    });
    const [code] = (await once(child, "close")) as [number | null];
    expect(code).to.equal(7);
    expect(printed).to.equal("ready\nsaved\n");
  });
});
