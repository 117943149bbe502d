import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { stackFile } from "../config/stackFile.ts";
import { type Lab, startLab, stopLab } from "../lab/lab.ts";
import { repository } from "../lab/labLifecycle.ts";
import { withFileLock } from "../lab/lock.ts";
import { stackEdits } from "../review/stackEdits.ts";
import { workloadsOf } from "../stackPlan.ts";
import { dummies } from "./dummies.ts";
import { labFor, simulatedTimes } from "./labFor.ts";
import { type LabStack, labStack } from "./labStack.ts";
import { perform, type Performance } from "./perform.ts";
import { RehearsalError } from "./problem.ts";
import type { SimulatedTimes } from "./realTime.ts";
import { type RehearsalReport, rehearsalReport } from "./report.ts";
import { Stage, type UpResult } from "./stage.ts";

/** An edit of a stack file. */
export interface EditOfStack {
  readonly stack: string;
  /** The git revision that it starts from, and its commit; for the report. */
  readonly base: string;
  readonly commit: string;
  /** Text of the stack file before and after. */
  readonly before: string;
  readonly after: string;
}

/** How a rehearsal is run. */
export interface RehearsalOptions {
  /** The longest outage of a route that is accepted, in seconds. */
  readonly limitSeconds?: number | undefined;
  /** Told of each step. */
  readonly say: (line: string) => void;
  /** Ends the rehearsal and its lab early. */
  readonly signal: AbortSignal;
}

/**
 * Builds the state before the edit on a lab of its own, applies the edit with the real CLI and records what happens.
 * @throws {RehearsalError} when the program refuses one of the two files, or the state before cannot be built
 */
export async function rehearse(
  edit: EditOfStack,
  { limitSeconds, say, signal }: RehearsalOptions,
): Promise<RehearsalReport> {
  const { stack, base, commit } = edit;
  const file = stackFile(stack);
  const before = labStack(edit.before, stack, `${file} of ${base} (${commit})`);
  const after = labStack(edit.after, stack, file);
  const times = simulatedTimes(before.config, after.config);
  const workloads = workloadsOf(after.config);
  say(`${file} of ${base} (${commit}) to the one here; 1 s of the lab for ${times.timeScale} s`);
  const { recording, settled, up } = await onOwnLab(
    `rehearse-${stack}`,
    { before, after, say, signal },
    async (lab) =>
      performed(await Stage.open(lab, { stack, signal }), { before, after, times, say }),
  );
  return rehearsalReport({
    ...{ stack, base, commit, times, limitSeconds, recording, settled },
    edits: stackEdits(edit.before, edit.after, file),
    workloads: workloads.map(({ name }) => name),
    surging: new Set(
      workloads.filter(({ rollout }) => rollout === "surge").map(({ name }) => name),
    ),
    forecast: up.facts?.forecast,
    refusal: refusalIn(up),
  });
}

interface Plot {
  readonly before: LabStack;
  readonly after: LabStack;
  readonly times: SimulatedTimes;
  readonly say: (line: string) => void;
}

/** Runs `action` on a fresh lab, which nobody else uses and which is gone afterwards. */
async function onOwnLab<T>(
  name: string,
  {
    before,
    after,
    say,
    signal,
  }: Pick<Plot, "before" | "after" | "say"> & { readonly signal: AbortSignal },
  action: (lab: Lab) => Promise<T>,
): Promise<T> {
  const labs = join(repository, ".lab");
  await mkdir(labs, { recursive: true });
  const wait = {
    timeoutSeconds: 300,
    onWait: () => {
      say("another rehearsal of this stack is at work; waiting for its end");
    },
    signal,
  };
  return withFileLock(
    join(labs, `.${name}.rehearsal`),
    async () => {
      await stopLab(name);
      const options = labFor(before.config, after.config);
      const lab = await startLab({ name, ...options, signal, log: say });
      try {
        return await action(lab);
      } finally {
        await stopLab(name);
      }
    },
    wait,
  );
}

async function performed(stage: Stage, { before, after, times, say }: Plot): Promise<Performance> {
  const longest = workloadsOf(after.config).map(
    ({ name }) => times.coldStartSeconds(name) + times.terminationSeconds(name),
  );
  const simulatedMs = (Math.max(...longest) * 1000) / times.timeScale;
  say("building the state before the edit");
  const both = [
    perform(stage.kubeConfig, () => stage.up(before.text), simulatedMs),
    stage.createInNamespace(dummies([before.config, after.config])),
  ] as const;
  // Both to their end, so that nothing works on a lab that is being removed.
  await Promise.allSettled(both);
  const [first] = await Promise.all(both);
  if (!first.settled || refusalIn(first.up) !== undefined) {
    throw new RehearsalError(
      `the state before the edit cannot be built: ${refusalIn(first.up) ?? "its pods do not start"}`,
    );
  }
  say("applying the edit");
  const result = await perform(
    stage.kubeConfig,
    () => stage.up(after.text, { preview: true }),
    simulatedMs,
  );
  say(result.settled ? "every rollout is done" : "not every rollout comes to its end");
  return result;
}

/** What the CLI complained of, in a few lines; undefined when it succeeded, or was interrupted by us. */
function refusalIn({ code, output }: UpResult): string | undefined {
  if (code === 0 || code === undefined) return undefined;
  const lines = output.split("\n").map((line) => line.trim());
  const from = lines.findIndex((line) => line.startsWith("error:"));
  const end = lines.findIndex((line, at) => at > from && line === "");
  const reason = from === -1 ? lines.slice(-5) : lines.slice(from, end === -1 ? from + 8 : end);
  return `pulumi up failed: ${reason.join("\n").trim()}`;
}
