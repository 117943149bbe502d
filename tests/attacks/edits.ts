// Attacks by an edit of the program: in each, a preview is made, and `up` is run whatever the preview says.
import type { Attack, Verdict } from "./attack.ts";
import { previewAndUp, SAYS } from "./attempts.ts";
import type { Edit } from "./victim.ts";

const SERVICE = "components/coderPredictor.ts";
const GUARDS = "components/guards.ts";
const NAMESPACE = "components/servingNamespace.ts";
const PROVIDER = "components/stackProvider.ts";

/** Removes each guard of the program on its own. */
export const DISARM = {
  check: {
    file: GUARDS,
    from: "        refuseOtherIdentity(props);\n",
    to: "        void [refuseOtherIdentity, props];\n",
  },
  protect: { file: GUARDS, from: "return { protect: true,", to: "return { protect: false," },
  retainOnDelete: {
    file: GUARDS,
    from: "retainOnDelete: true, ...",
    to: "...",
  },
  hook: { file: "index.ts", from: "const hooks = refuseDelete();", to: "const hooks = undefined;" },
  ignoreChanges: { file: GUARDS, from: "    ignoreChanges: ASSIGNED_BY_CLUSTER,\n", to: "" },
  admission: {
    file: NAMESPACE,
    from: "if (args.admissionGuard) admissionGuard",
    to: "if (args.stack === null) admissionGuard",
  },
} as const satisfies Record<string, Edit>;

/** Strikes that lose the Service when nothing stops them. */
export const STRIKES = {
  renamed: {
    file: SERVICE,
    from: "          name: CODER_PREDICTOR,",
    to: '          name: "coder-predictor-2",',
  },
  removed: {
    file: "index.ts",
    from: 'new CoderPredictor(\n  "coder-predictor",\n  { stack, ...config.coderService, hooks },\n  inNamespace,\n);',
    to: "{ clusterIp: CoderPredictor.name };",
  },
} as const satisfies Record<string, Edit>;

function edited(
  name: string,
  expected: Verdict,
  because: RegExp,
  ...edits: readonly Edit[]
): Attack {
  return {
    name,
    expected,
    run: async (victim) => {
      for (const edit of edits) await victim.edit(edit);
      return previewAndUp(victim, because);
    },
  };
}

const logicalName = (to: string): Edit => ({
  file: SERVICE,
  from: "new Service(\n      CODER_PREDICTOR,",
  to: `new Service(\n      ${to},`,
});
const parent = (to: string): Edit => ({
  file: SERVICE,
  from: "{ parent: this, ...neverReplaced",
  to: `{ ${to} ...neverReplaced`,
});
const type = (opts: string): Edit => ({
  file: SERVICE,
  from: 'super("llm-serving:index:CoderPredictor", name, {}, opts)',
  to: `super("llm-serving:index:Predictor", name, {}, ${opts})`,
});
const provider = (to: string): Edit => ({
  file: PROVIDER,
  from: '    "cluster",\n',
  to: `    "${to}",\n`,
});

/** Edits of names, places and addresses, every guard in place. */
export const identityAttacks: readonly Attack[] = [
  edited("logical name changed", "refused in preview", SAYS.engine, logicalName('"coder"')),
  edited("metadata.name changed", "refused in preview", SAYS.check, STRIKES.renamed),
  edited("another namespace", "refused in preview", SAYS.check, {
    file: SERVICE,
    from: "          namespace: NAMESPACE,",
    to: '          namespace: "default",',
  }),
  edited("clusterIP stated in the program", "refused in preview", SAYS.check, {
    file: SERVICE,
    from: '    type: "ClusterIP",',
    to: '    type: "ClusterIP",\n    clusterIP: "10.96.0.99",',
  }),
  edited("made headless", "refused in preview", SAYS.check, {
    file: SERVICE,
    from: '    type: "ClusterIP",',
    to: '    type: "ClusterIP",\n    clusterIP: "None",',
  }),
  edited("removed from the program", "refused in preview", SAYS.engine, STRIKES.removed),
  edited(
    "re-parented without alias",
    "refused in preview",
    SAYS.engine,
    parent("provider: Object.values(this.__providers)[0],"),
  ),
  edited(
    "re-parented with alias",
    "harmless",
    SAYS.any,
    parent("provider: Object.values(this.__providers)[0], aliases: [{ parent: this }],"),
  ),
  edited("type token changed without alias", "refused in preview", SAYS.engine, type("opts")),
  edited(
    "type token changed with alias",
    "harmless",
    SAYS.any,
    type('{ ...opts, aliases: [{ type: "llm-serving:index:CoderPredictor" }] }'),
  ),
  // Both providers have equal inputs, the constant clusterIdentifier among them: nothing is replaced.
  edited("provider renamed", "harmless", SAYS.any, provider("cluster-2")),
  edited("namespace renamed", "refused in preview", SAYS.any, {
    file: NAMESPACE,
    from: "          name: NAMESPACE,\n          labels",
    to: '          name: "llm-serving-2",\n          labels',
  }),
  edited("logical name of the namespace changed", "refused in preview", SAYS.engine, {
    file: NAMESPACE,
    from: "new Namespace(\n      NAMESPACE,",
    to: 'new Namespace(\n      "serving",',
  }),
  edited("ports and labels changed in the program", "harmless", SAYS.any, {
    file: SERVICE,
    from: "port: 8080, targetPort",
    to: "port: 8088, targetPort",
  }),
];

const names = Object.keys(DISARM) as (keyof typeof DISARM)[];
const pairs = names.flatMap((a, index) => names.slice(index + 1).map((b) => [a, b] as const));
const noOpHook: Edit = {
  file: GUARDS,
  from: "      throw new Error(\n",
  to: "      console.log(\n",
};

/** Guards taken away, alone, in pairs and all at once, each in one commit with the strike that it stops. */
export const guardAttacks: readonly Attack[] = [
  ...names.map((name) =>
    edited(
      `without ${name}, renamed`,
      "refused in preview",
      SAYS.any,
      DISARM[name],
      STRIKES.renamed,
    ),
  ),
  ...pairs.map(([a, b]) =>
    edited(
      `without ${a} and ${b}, renamed`,
      "refused in preview",
      SAYS.any,
      DISARM[a],
      DISARM[b],
      STRIKES.renamed,
    ),
  ),
  edited(
    "all guards gone in one commit, renamed",
    "refused in preview",
    SAYS.any,
    ...Object.values(DISARM),
    STRIKES.renamed,
  ),
  edited(
    "all guards gone in one commit, removed from the program",
    "refused in preview",
    SAYS.engine,
    ...Object.values(DISARM),
    STRIKES.removed,
  ),
  edited("the admission guard switched off", "refused in preview", SAYS.engine, {
    file: "Pulumi.dev.yaml",
    from: "    lab: true",
    to: "    lab: true\n    admissionGuard: false",
  }),
  // The state remembers retainOnDelete: the old Service stays in the cluster, beside the renamed one.
  edited(
    "every guard gone or made a no-op, the policy too, renamed",
    "harmless",
    SAYS.any,
    noOpHook,
    DISARM.check,
    DISARM.protect,
    DISARM.retainOnDelete,
    DISARM.ignoreChanges,
    {
      file: "components/admissionGuard.ts",
      from: 'validationActions: ["Deny"]',
      to: 'validationActions: ["Audit"]',
    },
    STRIKES.renamed,
  ),
  {
    name: "all options gone in a first commit and applied, removed in a second",
    expected: "refused in up",
    run: async (victim) => {
      const { check, protect, retainOnDelete, hook } = DISARM;
      for (const edit of [check, protect, retainOnDelete, hook]) await victim.edit(edit);
      await victim.mustUp();
      await victim.edit(STRIKES.removed);
      return previewAndUp(victim, SAYS.admission);
    },
  },
];
