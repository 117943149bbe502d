// Attacks by the Pulumi CLI: destroy, the state, the stack, the kubeconfig, two runs at once.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pulumi } from "../support/lab.ts";
import type { Attack, Verdict } from "./attack.ts";
import { attempted, previewAndUp, refusal, SAYS, saying } from "./attempts.ts";
import { DISARM, STRIKES } from "./edits.ts";
import { must, NAMESPACE_FLAG, SERVICE_URN, type Victim } from "./victim.ts";

const NEXT = { app: "candle-vllm-next" };

function destroyed(
  name: string,
  expected: Verdict,
  because: RegExp,
  ...args: readonly string[]
): Attack {
  return {
    name: `pulumi destroy ${name}`.trim(),
    expected,
    run: async (victim) =>
      attempted(
        async () => victim.pulumi(["destroy", "--preview-only", ...args]),
        async () => victim.pulumi(["destroy", "--yes", "--skip-preview", ...args]),
        because,
      ),
  };
}

/** A run with a kubeconfig of the attack's own. */
function reached(
  name: string,
  expected: Verdict,
  change: (kubeconfig: string, victim: Victim) => string,
): Attack {
  return {
    name: `kubeconfig: ${name}`,
    expected,
    run: async (victim) => {
      const file = join(victim.folder, "kubeconfig");
      await writeFile(file, change(await readFile(victim.lab.kubeconfig, "utf8"), victim));
      // The selector follows the program, so that `up` has something to do.
      return previewAndUp(victim, /does not answer/, { KUBECONFIG: file });
    },
  };
}

/** A state without what protects the Service: what somebody makes who edits the export by hand. */
function disarmed(state: string): string {
  const parsed = JSON.parse(state) as {
    deployment: { resources: Record<string, unknown>[] };
  };
  const guards = ["protect", "retainOnDelete", "resourceHooks"];
  const resources = parsed.deployment.resources.map((resource) =>
    Object.fromEntries(Object.entries(resource).filter(([key]) => !guards.includes(key))),
  );
  return JSON.stringify({ ...parsed, deployment: { ...parsed.deployment, resources } });
}

/** Points the live Service elsewhere, behind the program's back. */
export async function selectorByHand(victim: Victim): Promise<void> {
  const patch = JSON.stringify({ spec: { selector: NEXT } });
  const target = ["patch", "service", "coder-predictor", NAMESPACE_FLAG, "--type=merge"];
  must(await victim.kubectl(...target, `--patch=${patch}`), "kubectl patch");
}

/** Every attack by the CLI. */
export const commandAttacks: readonly Attack[] = [
  destroyed("", "refused in preview", SAYS.engine),
  destroyed("--run-program", "refused in preview", SAYS.engine, "--run-program"),
  destroyed("--target the Service", "refused in preview", SAYS.any, `--target=${SERVICE_URN}`),
  destroyed("--exclude-protected", "refused in preview", SAYS.any, "--exclude-protected"),
  destroyed(
    "--run-program --exclude-protected",
    "harmless",
    SAYS.any,
    "--run-program",
    "--exclude-protected",
  ),
  reached("localhost instead of 127.0.0.1", "harmless", (text) =>
    text.replace("https://127.0.0.1:", "https://localhost:"),
  ),
  reached("the CA in a file", "harmless", (text, { lab }) => {
    const file = join(lab.folder, ".kwok", "clusters", "lab", "pki", "ca.crt");
    return text.replace(
      /"certificate-authority-data": "[^"]*"/,
      `"certificate-authority": "${file}"`,
    );
  }),
  reached("a proxy that does not run", "refused in preview", (text) =>
    text.replace('"server":', '"proxy-url": "http://127.0.0.1:9",\n"server":'),
  ),
  {
    name: "pulumi state delete",
    expected: "refused in up",
    run: async (victim) => {
      const deleted = await victim.pulumi(["state", "delete", SERVICE_URN, "--yes"]);
      return refusal(deleted, SAYS.engine) ? "refused in up" : previewAndUp(victim, SAYS.any);
    },
  },
  {
    name: "pulumi state delete --force, then up",
    expected: "harmless",
    run: async (victim) => {
      const args = ["state", "delete", SERVICE_URN, "--force", "--yes"];
      must(await victim.pulumi(args), "state delete");
      return previewAndUp(victim, SAYS.any);
    },
  },
  {
    name: "pulumi state unprotect --all, then destroy",
    expected: "refused in preview",
    run: async (victim) => {
      must(await victim.pulumi(["state", "unprotect", "--all", "--yes"]), "state unprotect");
      return destroyed("", "refused in preview", SAYS.hook).run(victim);
    },
  },
  {
    name: "pulumi state unprotect --all, then removed from the program",
    expected: "refused in preview",
    run: async (victim) => {
      must(await victim.pulumi(["state", "unprotect", "--all", "--yes"]), "state unprotect");
      await victim.edit(STRIKES.removed);
      return previewAndUp(victim, SAYS.hook);
    },
  },
  {
    name: "guards cut out of the exported state and the program, then removed",
    expected: "refused in up",
    run: async (victim) => {
      await victim.imported(disarmed(await victim.exported()));
      await victim.edit(DISARM.hook);
      await victim.edit(STRIKES.removed);
      return previewAndUp(victim, SAYS.admission);
    },
  },
  {
    name: "state lost",
    expected: "harmless",
    run: async (victim) => {
      await victim.forgetState();
      return previewAndUp(victim, SAYS.any);
    },
  },
  {
    name: "stack removed by force",
    expected: "harmless",
    run: async (victim) => {
      await victim.append("Pulumi.dev.yaml", "");
      must(await victim.pulumi(["stack", "rm", "--force", "--yes"]), "stack rm");
      // It removes the stack file, too; that is under version control.
      await victim.undoEdits();
      must(await victim.pulumi(["stack", "init"]), "stack init");
      return previewAndUp(victim, SAYS.any);
    },
  },
  {
    name: "state restored from an export older than the last up",
    expected: "harmless",
    run: async (victim) => {
      const old = await victim.exported();
      const backend = "    backend: candle-vllm\n";
      const next = "    backend: candle-vllm-next\n    acceptUnready: true\n";
      await victim.edit({ file: "Pulumi.dev.yaml", from: backend, to: next });
      await victim.mustUp();
      await victim.imported(old);
      await victim.undoEdits();
      saying(await victim.preview(), /spec\.selector is \{"app":"candle-vllm-next"\}/);
      return previewAndUp(victim, SAYS.any);
    },
  },
  {
    name: "refresh after an edit by hand",
    expected: "harmless",
    run: async (victim) => {
      await selectorByHand(victim);
      must(await victim.pulumi(["refresh", "--yes", "--skip-preview"]), "refresh");
      // The state knows by now, so that the preview plans the way back, and stops at the hand's field manager.
      saying(await victim.preview(), /spec\.selector is /);
      saying(await victim.preview(), /conflict with "kubectl-patch"/);
      await victim.mustUp();
      must(await victim.preview("--expect-no-changes"), "preview");
      return "harmless";
    },
  },
  {
    name: "a second stack on the same namespace",
    expected: "refused in preview",
    run: async (victim) => {
      const args = ["--stack=second", `--config-file=${join(victim.folder, "Pulumi.dev.yaml")}`];
      const second = (...command: string[]) =>
        pulumi(victim.lab, [...command, ...args], { cwd: victim.folder });
      must(
        await pulumi(victim.lab, ["stack", "init", "second", "--no-select"], {
          cwd: victim.folder,
        }),
        "init",
      );
      const because = /belongs to stack dev|stack = second|--stack/;
      return attempted(
        async () => second("preview"),
        async () => second("up", "--yes", "--skip-preview"),
        because,
      );
    },
  },
  {
    name: "two up at once",
    expected: "refused in up",
    run: async (victim) => {
      await victim.edit({ file: "Pulumi.dev.yaml", from: "python:3.12", to: "python:3.13" });
      const both = await Promise.all([victim.up(), victim.up()]);
      const refused = both.filter((outcome) => refusal(outcome, /currently locked|locked by/));
      if (refused.length !== 1) throw new Error(`${refused.length} of two were refused`);
      return "refused in up";
    },
  },
];
