// `make adopt-plan`: what adoption would change, field by field. It changes nothing itself.
import { isAllowed, isFresh, isSettled, planAdoption } from "./adoptionPlan.ts";
import { runCommand } from "./commandLine.ts";
import { nothingText, planText } from "./report.ts";

await runCommand(async ({ stack, declared }) => {
  const plan = await planAdoption(stack, declared);
  console.log(planText(plan));
  if (!isAllowed(plan)) return 1;
  const nothing = isFresh(plan) || plan.objects.every(isSettled);
  const todo = `To do this: make adopt STACK=${stack.stack}`;
  console.log(`\n${nothing ? nothingText(plan, stack.stack) : todo}`);
  return 0;
});
