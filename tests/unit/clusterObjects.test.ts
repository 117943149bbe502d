import { expect } from "chai";
import { checkIdentity, offline } from "../../cluster.ts";
import type { ClusterFacts, LiveObject } from "../../cluster/facts.ts";
import { wantedObjects } from "../../cluster/wanted.ts";
import { facts, factsWith, judged, live, stackConfig } from "./clusterFixtures.ts";
import { completed, runProgram, stackFile } from "../support/program.ts";

const inferenceService = [
  { apiVersion: "serving.kserve.io/v1beta1", kind: "InferenceService", name: "coder", uid: "1" },
];

/** The usual facts, with one object in the place of the one of its kind and name. */
function replaced(object: LiveObject) {
  const others = facts().objects.filter(
    ({ kind, metadata }) => kind !== object.kind || metadata.name !== object.metadata.name,
  );
  return facts({ objects: [...others, object] });
}

describe("objects that the program wants", () => {
  it("are refused when nobody owns them, with the way to adopt them", () => {
    expect(judged(replaced(live("Service", "coder-predictor"))).problems).to.deep.equal([
      "Service llm-serving/coder-predictor: exists already and no stack owns it (annotation llm-serving/stack is absent); adopt it first: `make adopt-plan STACK=dev`",
    ]);
    expect(judged(replaced(live("Namespace", "llm-serving"))).problems[0]).to.match(
      /^Namespace llm-serving: exists already and no stack owns it/,
    );
  });

  it("are refused when another stack owns them, which is named", () => {
    expect(judged(replaced(live("Deployment", "candle-vllm", "prod"))).problems).to.deep.equal([
      "Deployment llm-serving/candle-vllm: belongs to stack prod by its annotation llm-serving/stack (only dev's own are changed here); use `--stack prod`, or another cluster for dev",
    ]);
  });

  it("are refused when garbage collection would delete them, owned or not", () => {
    const remedy =
      "`kubectl --namespace llm-serving delete InferenceService/coder --cascade=orphan`";
    const collected =
      "it has ownerReferences (InferenceService/coder), so that garbage collection deletes it with its owner, past every guard";
    const own = live("Service", "coder-predictor", "dev", inferenceService);
    expect(judged(replaced(own)).problems).to.deep.equal([
      `Service llm-serving/coder-predictor: ${collected}; remove the owner alone: ${remedy}`,
    ]);
    const unowned = live("Service", "coder-predictor", undefined, inferenceService);
    expect(judged(replaced(unowned)).problems).to.deep.equal([
      `Service llm-serving/coder-predictor: exists already and no stack owns it, and ${collected} (annotation llm-serving/stack is absent); remove the owner alone: ${remedy}, then adopt it first: \`make adopt-plan STACK=dev\``,
    ]);
  });

  it("are left to the adoption in its own run", () => {
    const unowned = replaced(live("Service", "coder-predictor"));
    expect(judged(unowned, stackConfig(), true).problems).to.deep.equal([]);
  });

  it("may be there as the stack's own, or not at all", () => {
    expect(judged(facts()).problems).to.deep.equal([]);
    expect(judged(facts({ objects: [] })).problems).to.deep.equal([]);
  });

  it("are every object of the committed graphs, of the kinds that are read", async () => {
    for (const stack of ["dev", "prod"]) {
      const file = completed(stackFile(stack));
      file["llm-serving:access"] = { clients: ["agents"] };
      const { resources } = await runProgram(stack, file);
      const registered = resources
        .filter(({ urn }) => urn.includes("$kubernetes:") && !urn.includes("k8s.io/v1:Validating"))
        .map(({ inputs }) => {
          const { kind, metadata } = inputs as { kind: string; metadata: { name: string } };
          return `${kind}/${metadata.name}`;
        });
      const bootName = registered.find((name) => name.startsWith("ConfigMap/clef-serve-boot-"));
      const wanted = wantedObjects(stackConfig({ access: { clients: ["agents"] } }), {});
      const names = wanted.map(({ kind, name }) =>
        kind === "ConfigMap" ? (bootName ?? "") : `${kind}/${name}`,
      );
      expect(names.sort()).to.deep.equal(registered.sort());
    }
  });
});

describe("objects that are nobody's business here", () => {
  it("are listed in one line, with the stack that owns them", () => {
    const state = judged(factsWith(live("ConfigMap", "notes"), live("Job", "sync", "prod")));
    expect(state.problems).to.deep.equal([]);
    expect(state.warnings).to.deep.equal([
      "in namespace llm-serving, but not of this stack: ConfigMap notes, Job sync (of stack prod)",
    ]);
  });

  it("leave out what the control plane, a controller or a reference explains", () => {
    const controlled = [
      { ...inferenceService[0], controller: true },
    ] as LiveObject["metadata"]["ownerReferences"];
    const objects = [
      live("ConfigMap", "kube-root-ca.crt"),
      live("Job", "sync-1", undefined, controlled),
      live("ConfigMap", "clef-serve-boot-0123456789", "dev"),
    ];
    expect(judged(factsWith(...objects)).warnings).to.deep.equal([]);
  });

  it("are cut off after twelve", () => {
    const many = Array.from({ length: 15 }, (_, index) => live("ConfigMap", `c${index}`));
    expect(judged(factsWith(...many)).warnings[0]).to.match(/ConfigMap c11 and 3 more$/);
  });
});

describe("objects that the stack refers to", () => {
  const without = (...kinds: string[]) =>
    facts({ objects: facts().objects.filter(({ kind }) => !kinds.includes(kind)) });

  it("are refused when a claim of a running workload does not exist", () => {
    expect(judged(without("PersistentVolumeClaim")).problems).to.deep.equal([
      "llm-serving:candleVllm.modelsClaim = models: namespace llm-serving has no such PersistentVolumeClaim, so pods of candle-vllm would never start (there is none); create it or correct the name",
    ]);
    const other = {
      objects: [
        ...without("PersistentVolumeClaim").objects,
        live("PersistentVolumeClaim", "weights"),
      ],
    };
    expect(judged(facts(other)).problems[0]).to.include("(weights); create it");
  });

  it("do not matter while the workload is parked", () => {
    const config = stackConfig();
    const parked = { ...config, candleVllm: { ...config.candleVllm, replicas: 0 } };
    expect(judged(without("PersistentVolumeClaim"), parked).problems).to.deep.equal([]);
  });

  it("are a warning while the namespace does not exist, with the order of a first installation", () => {
    const state = judged(facts({ objects: [] }));
    expect(state.problems).to.deep.equal([]);
    expect(state.warnings).to.deep.equal([
      "llm-serving:candleVllm.modelsClaim = models: namespace llm-serving does not exist yet and so neither does this PersistentVolumeClaim; run `pulumi up` with candle-vllm parked (replicas 0), create it, then unpark",
    ]);
  });

  it("include the packages' claim when it is used, the hub's token and the pull secret", () => {
    const config = stackConfig();
    const asking = {
      ...config,
      clefServe: { ...config.clefServe, bootstrap: "prepared", packagesClaim: "packages" } as const,
      candleVllm: { ...config.candleVllm, hfTokenSecret: { name: "hub", key: "token" } },
      registry: { ...config.registry, pullSecret: "pull" },
    };
    expect(judged(facts(), asking).problems.map((line) => line.split(":", 3)[1])).to.deep.equal([
      "clefServe.packagesClaim = packages",
      "candleVllm.hfTokenSecret.name = hub",
      "registry.pullSecret = pull",
    ]);
    const there = factsWith(
      live("PersistentVolumeClaim", "packages"),
      live("Secret", "hub"),
      live("Secret", "pull"),
    );
    expect(judged(there, asking).problems).to.deep.equal([]);
    const install = {
      ...asking,
      clefServe: { ...asking.clefServe, bootstrap: "install" } as const,
    };
    expect(judged(facts(), install).problems).to.have.length(2);
  });

  it("are claims that let the Job and the pods in at once, and have a volume", () => {
    const config = stackConfig();
    const clefServe = { ...config.clefServe, packagesClaim: "packages" };
    const claimed = (phase: string, ...accessModes: readonly string[]) =>
      factsWith({ ...live("PersistentVolumeClaim", "packages"), claim: { phase, accessModes } });
    const state = (of: ClusterFacts, bootstrap: "install" | "prepared" = "prepared") =>
      judged(of, { ...config, clefServe: { ...clefServe, bootstrap } });
    const path = "llm-serving:clefServe.packagesClaim = packages: this PersistentVolumeClaim is";
    expect(state(claimed("Bound", "ReadWriteOncePod")).problems).to.deep.equal([
      `${path} ReadWriteOncePod, and the Job that fills it would wait for ever for the pods that use it ` +
        "(ReadWriteOnce, ReadWriteMany); name another claim",
    ]);
    const pending = state(claimed("Pending", "ReadWriteOnce"));
    expect(pending.problems).to.deep.equal([]);
    expect(pending.warnings).to.include(
      `${path} Pending, without a volume; unless its storage class binds at the first use, pods that mount it stay Pending`,
    );
    expect(state(claimed("Bound", "ReadWriteOnce")).warnings.join()).not.to.include(path);
    expect(state(claimed("Pending", "ReadWriteOncePod"), "install").problems).to.deep.equal([]);
  });

  it("A13 are not judged where this identity may not look, and that is said", () => {
    const blind = { ...without("PersistentVolumeClaim"), mayPatch: false };
    const state = judged({ ...blind, unread: new Set(["PersistentVolumeClaim"] as const) });
    expect(state.problems).to.deep.equal([]);
    expect(state.notes).to.deep.equal([
      "not checked: PersistentVolumeClaim (this identity may not read them in namespace llm-serving)",
      "not checked: what the API server itself would refuse (this identity may not patch in namespace llm-serving, which a server-side dry run needs)",
    ]);
  });
});

describe("identity of the cluster", () => {
  const server = "https://10.0.0.1:6443";
  const uid = "3f0c0000-0000-0000-0000-000000000000";

  it("is refused when a lab is wanted and the cluster is none", () => {
    const cluster = { context: "llm-lab", admissionGuard: true, lab: true } as const;
    expect(() => {
      checkIdentity(cluster, { server, uid, lab: undefined });
    }).to.throw(/cluster\.lab = true: the cluster at https:\/\/10\.0\.0\.1:6443 is no lab/);
    checkIdentity(cluster, { server, uid, lab: "llm-lab" });
  });

  it("is refused when the uid is another one", () => {
    const cluster = { context: "onprem", admissionGuard: true, uid };
    expect(() => {
      checkIdentity(cluster, { server, uid: "other", lab: undefined });
    }).to.throw(
      /context onprem leads to another cluster, https:\/\/10\.0\.0\.1:6443 with uid other/,
    );
    checkIdentity(cluster, { server, uid, lab: undefined });
  });
});

describe("LLM_SERVING_OFFLINE", () => {
  const withValue = (value: string | undefined, preview: boolean) => {
    if (value !== undefined) process.env.LLM_SERVING_OFFLINE = value;
    try {
      return offline(preview);
    } finally {
      delete process.env.LLM_SERVING_OFFLINE;
    }
  };

  it("A12 holds for a preview alone", () => {
    expect([withValue("1", true), withValue(undefined, true), withValue("", false)]).to.deep.equal([
      true,
      false,
      false,
    ]);
    expect(() => withValue("1", false)).to.throw(/is for previews alone/);
    expect(() => withValue("yes", true)).to.throw(/not a known value \(1, or unset\)/);
  });
});
