import {
  CoreV1Api,
  KubeConfig,
  setHeaderOptions,
  type V1EndpointSlice,
  type V1Pod,
  Watch,
} from "@kubernetes/client-node";
import { expect } from "chai";
import { textOf, useDevStack } from "../support/devStack.ts";
import { apply, eventually, kubectl, kubectlJson, useLab } from "../support/lab.ts";

const NAMESPACE = "--namespace=llm-serving";
/** Every card of the node is held. */
const FULL = { "candleVllm.tensorParallel": 2, "reasoning.replicas": 1 };
const OTHER_IMAGE = { "candleVllm.image": "lab.invalid/candle-vllm:0.8.10" };
const UP = ["up", "--yes", "--skip-preview"];

interface Pod {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly status: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

// What `up` says and when it ends, on a real controller manager and scheduler.
describe("rollouts of the dev stack", function () {
  this.timeout(300_000);
  const lab = useLab("test-rollouts", {
    coldStartSeconds: { "*": 2 },
    terminationSeconds: { "*": 2, "clef-serve": 5 },
  });
  const { updated, refused, accepted, run, file } = useDevStack(lab);

  const pods = async (app: string): Promise<readonly Pod[]> => {
    const selector = `--selector=app=${app}`;
    const { items } = (await kubectlJson(lab(), "get", "pods", NAMESPACE, selector)) as {
      items: readonly Pod[];
    };
    return items;
  };
  const isReady = ({ status }: Pod): boolean =>
    (status.conditions ?? []).some(({ type, status: is }) => type === "Ready" && is === "True");

  it("ends only when every new pod is Ready and every former one gone, two templates at once", async () => {
    await updated();
    const before = [await pods("clef-serve"), await pods("candle-vllm")].flat();
    await updated({ "clefServe.graceSeconds": 61, "candleVllm.graceSeconds": 61 });
    const after = [await pods("clef-serve"), await pods("candle-vllm")].flat();
    expect(after.map(isReady)).to.deep.equal([true, true]);
    const names = before.map(({ metadata }) => metadata.name);
    expect(after.some(({ metadata }) => names.includes(metadata.name))).to.equal(false);
  });

  it("C01 rolls out on a full node: the old pod goes before the new one wants its cards", async () => {
    await updated(FULL);
    await updated({ ...FULL, ...OTHER_IMAGE });
    expect((await pods("candle-vllm")).map(isReady)).to.deep.equal([true]);
  });

  it("C05 waits for the card of a terminating pod and says whose, with one update at a time", async () => {
    // From the full node of the test before.
    file().edit({ ...FULL, ...OTHER_IMAGE, "clefServe.replicas": 0, "reasoning.replicas": 2 });
    const up = await run([...UP, "--parallel=1"]);
    expect(up.code, textOf(up)).to.equal(0);
    expect(textOf(up)).to.match(
      /reasoning-\S+ waits for 1 card, \d+ s; clef-serve-\S+ holds 1 card of worker-1, terminating for \d+ s/,
    );
    expect((await pods("reasoning")).map(isReady)).to.deep.equal([true, true]);
    expect(await pods("clef-serve")).to.deep.equal([]);
  });

  it("C13 fails with the quota's words when no pod is made at all, and passes once it is gone", async () => {
    const two = { "candleVllm.tensorParallel": 1, "clefServe.replicas": 2 };
    await updated({ "candleVllm.tensorParallel": 1 });
    await apply(lab(), [
      {
        apiVersion: "v1",
        kind: "ResourceQuota",
        metadata: { name: "cards", namespace: "llm-serving" },
        spec: { hard: { "requests.nvidia.com/gpu": "2" } },
      },
    ]);
    file().edit(two);
    const up = await run(UP);
    expect(up.code).not.to.equal(0);
    expect(textOf(up)).to.match(/clef-serve: no pod is made: .*exceeded quota: cards/);
    await kubectl(lab(), "delete", "resourcequota", "cards", NAMESPACE);
    await updated(two);
    expect((await pods("clef-serve")).map(isReady)).to.deep.equal([true, true]);
  });

  it("C07 ends with the node's reason when it rejects one pod after the other", async () => {
    await updated();
    file().edit({ "candleVllm.graceSeconds": 62 });
    const old = (await pods("candle-vllm")).map(({ metadata }) => metadata.name);
    const rejections: Promise<unknown>[] = [];
    const end = await watch("/api/v1/namespaces/llm-serving/pods", "app=candle-vllm", (object) => {
      const { metadata, status } = object as V1Pod;
      const name = metadata?.name ?? "";
      if (old.includes(name) || status?.phase === "Failed") return;
      rejections.push(reject(name));
    });
    const up = await run(UP);
    end();
    await Promise.allSettled(rejections);
    expect(up.code, textOf(up)).not.to.equal(0);
    expect(textOf(up)).to.match(
      /candle-vllm: \d pods failed, last candle-vllm-\S+: UnexpectedAdmissionError no healthy card/,
    );
    await updated();
  });

  /** As a kubelet rejects a pod whose card is dead. */
  async function reject(name: string): Promise<void> {
    const reason = "UnexpectedAdmissionError";
    await kubeConfig()
      .makeApiClient(CoreV1Api)
      .patchNamespacedPodStatus(
        {
          name,
          namespace: "llm-serving",
          body: { status: { phase: "Failed", reason, message: "no healthy card" } },
        },
        setHeaderOptions("Content-Type", "application/merge-patch+json"),
      );
  }

  function kubeConfig(): KubeConfig {
    const config = new KubeConfig();
    config.loadFromFile(lab().kubeconfig);
    return config;
  }

  /** Tells of each object and each change of it. @returns what ends it */
  async function watch(
    path: string,
    labelSelector: string,
    tell: (object: unknown) => void,
  ): Promise<() => void> {
    const request = await new Watch(kubeConfig()).watch(
      path,
      { labelSelector },
      (_type, object) => {
        tell(object);
      },
      () => undefined,
    );
    return () => {
      request.abort();
    };
  }

  it("C10 lets a drain of the node end: no disruption budget holds a pod back", async () => {
    await updated();
    const drain = ["--timeout=20s", "--ignore-daemonsets", "--pod-selector=app=candle-vllm"];
    // Home, tmp and /dev/shm are emptyDirs, for which kubectl wants a flag of its own.
    await kubectl(lab(), "drain", "worker-1", ...drain, "--delete-emptydir-data");
    await kubectl(lab(), "uncordon", "worker-1");
    await eventually(async () => (await pods("candle-vllm")).every(isReady) || undefined);
    const budgets = await kubectlJson(lab(), "get", "poddisruptionbudgets", NAMESPACE);
    expect((budgets as { items: unknown[] }).items).to.deep.equal([]);
  });

  it("hands the coder over between two Ready engines without a moment without endpoint", async () => {
    const both = { "candleVllmNext.replicas": 1 };
    const next = { "coderService.backend": "candle-vllm-next" };
    const early = await refused({ ...both, ...next });
    expect(early).to.include("llm-serving:coderService.backend = candle-vllm-next: no pod of");
    await updated({ ...both, "coderService.backend": "candle-vllm" });
    const recorded = await endpointsDuring(async () => {
      await updated({ ...both, ...next });
    });
    expect(recorded.at(0), "before").to.match(/^candle-vllm-[0-9a-f]/);
    expect(recorded.at(-1), "after").to.match(/^candle-vllm-next-/);
    const empty = recorded.filter((names) => names === "");
    console.log(`      ${recorded.length} states of the EndpointSlice, empty for 0 ms`);
    expect(empty).to.deep.equal([]);
  });

  it("hands back to an engine that is parked only when that is accepted", async () => {
    const parked = { "candleVllmNext.replicas": 1, "candleVllm.replicas": 0 };
    await updated({ ...parked, "coderService.backend": "candle-vllm-next" });
    const back = { "candleVllm.replicas": 1, "coderService.backend": "candle-vllm" };
    expect(await refused(back)).to.include("no pod of candle-vllm is Ready");
    const loud = { ...back, "coderService.acceptUnready": true };
    expect(await accepted(loud)).to.match(/coder-predictor is down for about \d+ s/);
    await updated(loud);
    expect(await refused(loud)).to.include("acceptUnready = true: not needed");
  });

  /** Names of the serving endpoints of coder-predictor in each state of its EndpointSlice while something runs. */
  async function endpointsDuring(action: () => Promise<void>): Promise<readonly string[]> {
    const states: string[] = [];
    const end = await watch(
      "/apis/discovery.k8s.io/v1/namespaces/llm-serving/endpointslices",
      "kubernetes.io/service-name=coder-predictor",
      (object) => {
        // An empty list comes as null, whatever the client's types say.
        const { endpoints } = object as { readonly endpoints: V1EndpointSlice["endpoints"] | null };
        const all = endpoints ?? [];
        const serving = all.filter(({ conditions }) => conditions?.serving === true);
        states.push(serving.map(({ targetRef }) => targetRef?.name ?? "").join(" "));
      },
    );
    await eventually(() => Promise.resolve(states.length > 0 || undefined));
    await action();
    await eventually(() => Promise.resolve(states.at(-1)?.includes("next") === true || undefined));
    end();
    return states;
  }
});
