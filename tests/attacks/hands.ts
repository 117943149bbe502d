// Attacks by kubectl. What the cluster lets pass, the next preview has to tell.
import type { Attack } from "./attack.ts";
import { refusal, SAYS, saying } from "./attempts.ts";
import { selectorByHand } from "./commands.ts";
import { must, NAMESPACE_FLAG, type Victim } from "./victim.ts";

function denied(name: string, ...args: readonly string[]): Attack {
  return {
    name: `kubectl ${name}`,
    expected: "refused in up",
    run: async (victim) =>
      refusal(await victim.kubectl(...args), SAYS.admission) ? "refused in up" : "harmless",
  };
}

/** An edit that the cluster accepts: the next preview must say `tells`, and `up --refresh` must end that. */
function told(name: string, tells: RegExp, edit: (victim: Victim) => Promise<unknown>): Attack {
  return {
    name: `kubectl ${name}`,
    expected: "harmless",
    run: async (victim) => {
      await edit(victim);
      saying(await victim.preview(), tells);
      await victim.mustUp("--refresh");
      const after = await victim.preview("--expect-no-changes");
      must(after, "preview");
      if (tells.test(after.stdout)) throw new Error(`up --refresh did not put it back: ${tells}`);
      return "harmless";
    },
  };
}

const changed = async (victim: Victim, ...args: readonly string[]) =>
  must(await victim.kubectl(...args), `kubectl ${args.join(" ")}`);

const SERVICE = ["service", "coder-predictor", NAMESPACE_FLAG];
const BINDING = ["validatingadmissionpolicybinding", "llm-serving-delete-guard"];
const POLICY = ["validatingadmissionpolicy", "llm-serving-delete-guard"];

/** Every attack by kubectl. */
export const handAttacks: readonly Attack[] = [
  denied("delete service", "delete", ...SERVICE),
  denied("delete service --force", "delete", ...SERVICE, "--force", "--grace-period=0"),
  denied(
    "delete services by label",
    "delete",
    "services",
    "-l=app=coder-predictor",
    NAMESPACE_FLAG,
  ),
  denied(
    "delete of the whole collection of Services",
    "delete",
    "--raw=/api/v1/namespaces/llm-serving/services?labelSelector=app%3Dcoder-predictor",
  ),
  denied("delete namespace", "delete", "namespace", "llm-serving"),
  {
    name: "kubectl delete with an annotation of another uid",
    expected: "refused in up",
    run: async (victim) => {
      const note = "llm-serving/allow-delete=00000000-0000-0000-0000-000000000000";
      await changed(victim, "annotate", ...SERVICE, note);
      const deleted = await victim.kubectl("delete", ...SERVICE);
      await changed(victim, "annotate", ...SERVICE, "llm-serving/allow-delete-");
      return refusal(deleted, SAYS.admission) ? "refused in up" : "harmless";
    },
  },
  told("edit of the selector", /spec\.selector is/, selectorByHand),
  told("edit of a port", /spec\.ports is/, async (victim) => {
    const patch = '[{"op":"replace","path":"/spec/ports/0/targetPort","value":8081}]';
    await changed(victim, "patch", ...SERVICE, "--type=json", `--patch=${patch}`);
  }),
  told("delete of the policy's binding", /Binding .* is missing in the cluster/, async (victim) =>
    changed(victim, "delete", ...BINDING),
  ),
  told("edit of the binding to Audit", /Binding .* was changed in the cluster/, async (victim) => {
    const patch = '{"spec":{"validationActions":["Audit"]}}';
    await changed(victim, "patch", ...BINDING, "--type=merge", `--patch=${patch}`);
  }),
  told("delete of the policy", /Policy .* is missing in the cluster/, async (victim) =>
    changed(victim, "delete", ...POLICY),
  ),
];
