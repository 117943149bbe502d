// `make adopt-plan`: what adoption would change, field by field. It changes nothing itself.
import { isAllowed, isSettled, planAdoption } from "./adoptionPlan.ts";
import { runCommand } from "./commandLine.ts";
import { planText } from "./report.ts";

await runCommand(async ({ stack, declared }) => {
  const plan = await planAdoption(stack, declared);
  console.log(planText(plan));
  if (!isAllowed(plan)) return 1;
  const settled = plan.objects.every(isSettled);
  console.log(settled ? "\nNothing to adopt." : `\nTo do this: make adopt STACK=${stack.stack}`);
  return 0;
});
