import { expect } from "chai";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Server } from "node:net";
import { dirname, join } from "node:path";
import type { Lab } from "../../lab/lab.ts";
import { objectVersions, textOf, useDevStack } from "../support/devStack.ts";
import { apply, kubectl, kubectlJson, pulumi, useLab } from "../support/lab.ts";

interface KubeConfigFile {
  readonly clusters: readonly { readonly name: string }[];
  readonly users: readonly { readonly name: string }[];
  readonly contexts: readonly { readonly name: string }[];
}

async function configOf(lab: Lab): Promise<KubeConfigFile> {
  return (await kubectlJson(lab, "config", "view", "--raw")) as KubeConfigFile;
}

// The way to the cluster: which one it is, whether it answers, and what this identity may see there.
describe("access to the cluster", function () {
  this.timeout(300_000);
  const lab = useLab("test-access", { authorization: true });
  const other = useLab("test-access-other");
  const { file, run, updated, accepted, refused } = useDevStack(lab);

  /** Writes a kubeconfig beside the stack file of the test that runs. */
  async function kubeconfig(text: string): Promise<{ KUBECONFIG: string }> {
    const path = join(dirname(file().path), "kubeconfig");
    await writeFile(path, text);
    return { KUBECONFIG: path };
  }

  /** Both clusters in one file, the other one ambient. */
  async function ambientOther() {
    const [ours, theirs] = [await configOf(lab()), await configOf(other())];
    const asOther = <T>(entries: readonly T[]) =>
      entries.map((entry) => ({ ...entry, name: "other" }));
    return kubeconfig(
      JSON.stringify({
        ...ours,
        "current-context": "other",
        clusters: [...ours.clusters, ...asOther(theirs.clusters)],
        users: [...ours.users, ...asOther(theirs.users)],
        contexts: [
          ...ours.contexts,
          { name: "other", context: { cluster: "other", user: "other" } },
        ],
      }),
    );
  }

  // Every other test finds the stack as this one made it.
  before(async () => updated({}, await ambientOther()));

  it("A03 touches the stack's cluster alone, whatever the ambient context is", async () => {
    expect(await kubectl(lab(), "get", "namespaces", "-o=name")).to.include("llm-serving");
    expect(await kubectl(other(), "get", "namespaces", "-o=name")).not.to.include("llm-serving");
    const exported = (await pulumi(lab(), ["stack", "export", "--stack=dev"])).stdout;
    expect(exported).to.include("pulumi:providers:kubernetes::cluster");
    expect(exported).not.to.include("pulumi:providers:kubernetes::default_");
  });

  it("A03 refuses a context that the kubeconfig does not have, naming the key", async () => {
    expect(await refused({ "cluster.context": "nowhere" }, await ambientOther())).to.match(
      /llm-serving:cluster\.context = nowhere: .* has no such context \(llm-lab, other\); set KUBECONFIG/,
    );
  });

  describe("without an answer", () => {
    /** A server that accepts connections and says nothing, and the lab's kubeconfig with its address. */
    async function silentServer(): Promise<{
      silent: Server;
      port: number;
      env: { KUBECONFIG: string };
    }> {
      const silent = createServer().listen(0, "127.0.0.1");
      await once(silent, "listening");
      const { port } = silent.address() as AddressInfo;
      const text = await readFile(lab().kubeconfig, "utf8");
      const server = `https://127.0.0.1:${port}`;
      return {
        silent,
        port,
        env: await kubeconfig(text.replace(/https:\/\/127\.0\.0\.1:\d+/, server)),
      };
    }

    /** As {@link silentServer}, but gone. */
    async function deadServer() {
      const { silent, port, env } = await silentServer();
      silent.close();
      await once(silent, "close");
      return { port, env };
    }

    it("A12 refuses a preview of a dead cluster", async () => {
      const { port, env } = await deadServer();
      expect(await refused({ "candleVllm.tensorParallel": 2 }, env)).to.include(
        `llm-serving:cluster.context = llm-lab: the cluster at https://127.0.0.1:${port} does not answer: ` +
          `connect ECONNREFUSED 127.0.0.1:${port}; try \`kubectl --context llm-lab get nodes\``,
      );
    });

    it("A12 refuses a preview of a silent cluster after 5 s", async () => {
      const { env: dead } = await deadServer();
      const atOnce = await run(["preview"], dead);
      const { silent, env } = await silentServer();
      try {
        const outcome = await run(["preview"], env);
        expect(outcome.code).not.to.equal(0);
        expect(textOf(outcome)).to.include("does not answer: no answer within 5 s");
        // The rest of a preview takes as long as with a cluster that refuses at once, however busy the machine is.
        expect(outcome.seconds - atOnce.seconds).to.be.within(4, 9);
      } finally {
        silent.close();
      }
    });

    it("A12 runs an offline preview loudly", async () => {
      const env = { ...(await deadServer()).env, LLM_SERVING_OFFLINE: "1" };
      const text = await accepted({ "candleVllm.tensorParallel": 2 }, env);
      expect(text).to.include("warning: LLM_SERVING_OFFLINE = 1: live checks skipped.");
      expect(text).to.include("3 of 4 used, 1 free");
    });

    it("A12 refuses an offline update before it touches anything", async () => {
      const before = await objectVersions(lab());
      file().edit({ "candleVllm.tensorParallel": 2 });
      const up = await run(["up", "--yes", "--skip-preview"], { LLM_SERVING_OFFLINE: "1" });
      expect(up.code).not.to.equal(0);
      expect(textOf(up)).to.include("LLM_SERVING_OFFLINE = 1: is for previews alone");
      expect(await objectVersions(lab())).to.equal(before);
    });
  });

  describe("with another identity", () => {
    const reading = ["get", "list", "watch"];
    const group = (apiGroups: string[], resources: string[]) => ({
      apiGroups,
      resources,
      verbs: reading,
    });
    const namespaced = [
      group([""], ["services", "configmaps", "persistentvolumeclaims"]),
      group(["apps"], ["deployments", "statefulsets", "daemonsets"]),
      group(["batch"], ["jobs"]),
      group(["networking.k8s.io"], ["networkpolicies"]),
      group(["admissionregistration.k8s.io"], ["*"]),
    ];

    /** A kubeconfig of a ServiceAccount that may do what `rules` say. */
    async function identity(
      name: string,
      rules: readonly object[],
    ): Promise<Record<string, string>> {
      const subjects = [{ kind: "ServiceAccount", name, namespace: "default" }];
      const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name };
      const rbac = { apiVersion: "rbac.authorization.k8s.io/v1", metadata: { name } };
      await apply(lab(), [
        { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace: "default" } },
        { ...rbac, kind: "ClusterRole", rules },
        { ...rbac, kind: "ClusterRoleBinding", roleRef, subjects },
      ]);
      const token = (await kubectl(lab(), "create", "token", name)).trim();
      const config = await configOf(lab());
      const users = [{ name: config.users[0]?.name, user: { token } }];
      return kubeconfig(JSON.stringify({ ...config, users }));
    }

    it("A13 previews with read rights alone, and says what was not checked", async () => {
      const env = await identity("reviewer", [
        group([""], ["nodes", "pods", "namespaces"]),
        ...namespaced,
      ]);
      const text = await accepted(
        { "reasoning.replicas": 1, "candleVllm.hfTokenSecret": { name: "hub", key: "token" } },
        env,
      );
      expect(text).to.include(
        "not checked: Secret (this identity may not read them in namespace llm-serving)",
      );
      expect(text).to.include("not checked: what the API server itself would refuse");
      expect(text).to.include("3 of 4 cards used on worker-1, 1 free");
    });

    it("A13 refuses with read rights alone what the program itself sees", async () => {
      const env = await identity("reviewer", [
        group([""], ["nodes", "pods", "namespaces"]),
        ...namespaced,
      ]);
      expect(await refused({ "candleVllm.tensorParallel": 3 }, env)).to.match(
        /llm-serving:candleVllm\.tensorParallel = 3: /,
      );
      const sum = { "candleVllm.tensorParallel": 2, "candleVllmNext.replicas": 1 };
      expect(await refused(sum, env)).to.include("worker-1 is asked for 5 cards");
    });

    it("A13 names the right that is missing when it cannot do without", async () => {
      const env = await identity("blind", [group([""], ["nodes", "namespaces"])]);
      const text = await refused({}, env);
      expect(text).to.match(
        /refuses a read that every run needs: pods is forbidden: .* \(403\); grant get and list on/,
      );
    });
  });
});
