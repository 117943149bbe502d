// `make adopt`: makes the live namespace managed. Plan, handover of field managers, preview, `up`, and a look at what
// came of it. It stops at the first step that does not hold; a second run goes on from there. It never deletes.
import type { AdoptionPlan } from "./adoptionPlan.ts";
import { isAllowed, isFresh, isSettled, planAdoption } from "./adoptionPlan.ts";
import { AdoptionError } from "./command.ts";
import { runCommand } from "./commandLine.ts";
import { differences } from "./difference.ts";
import { handedOver } from "./managers.ts";
import type { StackArguments } from "./rendering.ts";
import { pendingOperations, previewed, pulumi } from "./rendering.ts";
import { nothingText, planText } from "./report.ts";
import { observe, verify } from "./verification.ts";

await runCommand(async ({ stack, declared }) => {
  const plan = await planAdoption(stack, declared);
  console.log(planText(plan));
  if (!isAllowed(plan)) {
    console.error("\nNothing was changed: the plan has refused or undeclared lines (see above).");
    return 1;
  }
  if (isFresh(plan) || plan.objects.every(isSettled)) {
    console.log(`\n${nothingText(plan, stack.stack)}`);
    return 0;
  }
  const before = await observe(plan);
  await handOver(plan);
  await checkPreview(stack, plan);
  await update(stack, plan);
  const { text, problems } = await verify(plan, before);
  const empty = await pulumi(stack, ["preview", "--expect-no-changes"]);
  if (empty.code !== 0) problems.push(`the next preview is not empty:\n${empty.stdout.trim()}`);
  console.log(`\n${text}`);
  for (const problem of problems) console.error(problem);
  const pending = await pendingOperations(stack.stack);
  if (pending.length > 0) {
    console.log(
      `\nA killed run left operations in the state (${pending.join(", ")}); each update warns of them until ` +
        `\`make recover STACK=${stack.stack}\``,
    );
  }
  console.log(problems.length === 0 ? "\nAdopted; the next preview is empty." : "\nNot adopted.");
  return problems.length === 0 ? 0 : 1;
});

/**
 * Gives kubectl's fields to the program's field manager. Nothing but metadata.managedFields changes, so that no pod
 * notices; until the update, `kubectl apply` goes on as before.
 * @throws {AdoptionError} when an object changed since the plan, or its apply would not give what was planned
 */
async function handOver({ cluster, declared, objects }: AdoptionPlan): Promise<void> {
  for (const { title, rendered, live, after } of objects) {
    if (live === undefined || after === undefined) continue;
    const entries = handedOver(live, rendered.object, declared.takeOver);
    if (entries !== undefined) await cluster.handOver(live, entries);
    const applied = await cluster.applied(rendered.object);
    const paths = differences(after, applied).map(({ path }) => path);
    if (paths.length > 0) {
      throw new AdoptionError(
        `${title}: applying it would not give what was planned in ${paths.join(", ")}; only field managers were ` +
          `changed. Correct these fields with kubectl, then run this again`,
      );
    }
  }
  console.log("\nField managers are handed over.");
}

/** @throws {AdoptionError} when the update would do anything but import, create and update in place */
async function checkPreview(stack: StackArguments, plan: AdoptionPlan): Promise<void> {
  const { removed } = await previewed(stack, plan.imports, { args: refresh(plan) });
  if (removed.length > 0) {
    throw new AdoptionError(
      `${removed.join(", ")}: the update would delete or replace it; only field managers were changed`,
    );
  }
}

/** @throws {AdoptionError} when `up` fails: what it did stays, and a second run goes on */
async function update(stack: StackArguments, plan: AdoptionPlan): Promise<void> {
  const args = ["up", "--yes", "--skip-preview", "--suppress-outputs", ...refresh(plan)];
  const { code } = await pulumi(stack, args, plan.imports, { shown: true });
  if (code === 0) return;
  throw new AdoptionError(
    `pulumi up failed (exit code ${code}, its message is above); nothing was deleted. Remove the cause and run ` +
      `\`make adopt STACK=${stack.stack}\` again. If the stack is locked by a run that no longer lives: ` +
      `\`pulumi cancel --stack ${stack.stack}\` first`,
  );
}

/** The engine compares with its state, so that it sees what hands did to an object it already has only after a refresh. */
function refresh({ objects }: AdoptionPlan): string[] {
  const changed = objects.some(
    ({ rendered, live, differences: found }) =>
      rendered.managed && (live === undefined || found.length > 0),
  );
  return changed ? ["--refresh"] : [];
}
