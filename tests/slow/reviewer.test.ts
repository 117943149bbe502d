import { expect } from "chai";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { REVIEWER } from "../../components/reviewer.ts";
import { objectVersions, textOf, useDevStack } from "../support/devStack.ts";
import { kubectl, kubectlJson, runIn, useLab } from "../support/lab.ts";
import { installMonitoringCrds } from "../support/monitoringCrds.ts";
import { type ApiRequest, type RecordingProxy, recordingProxy } from "../support/recordingProxy.ts";

interface Role {
  readonly rules: readonly {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
  }[];
}

const ACCESS = { "access.reviewer": true, "access.clients": ["poimen-memory"] };

/** "apps/deployments list" for each request that reads objects. */
function readBy({ method, path }: ApiRequest): string | undefined {
  const [, group = "", rest = ""] =
    /^\/api(?:s\/([^/]+))?\/v1\/(?:namespaces\/[^/]+\/(?=[a-z]))?([^?]+)/.exec(path) ?? [];
  const [resource = "", name] = rest.split("/");
  if (method !== "GET" || rest === "") return undefined;
  return `${group}/${resource} ${name === undefined ? "list" : "get"}`;
}

/** As {@link readBy}, of what a role allows. */
function allowedBy({ rules }: Role): string[] {
  return rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) => verbs.map((verb) => `${group}/${resource} ${verb}`)),
    ),
  );
}

const isDryRun = ({ method, path }: ApiRequest) =>
  method === "PATCH" && path.includes("dryRun=All");
/** Creates nothing: the question what one may do. */
const isQuestion = ({ path }: ApiRequest) => path.endsWith("/selfsubjectaccessreviews");

describe("the reviewer", function () {
  this.timeout(300_000);
  const lab = useLab("test-reviewer", { authorization: true });
  const { file, run, updated } = useDevStack(lab);
  let kubeconfig: string;
  let proxy: RecordingProxy;
  /** All that the tests so far asked, for the last one. */
  const asked: ApiRequest[] = [];

  before(async () => {
    await installMonitoringCrds(lab());
    await updated(ACCESS);
    const [, commands] = /```sh\n([^]*?)```/.exec(await readFile("docs/reviewer.md", "utf8")) ?? [];
    const made = await runIn(lab(), "bash", ["-euc", commands ?? "exit 1"], {
      cwd: lab().folder,
      env: { CONTEXT: lab().context },
    });
    expect(made.code, textOf(made)).to.equal(0);
    kubeconfig = join(lab().folder, "reviewer.kubeconfig");
    const [, token = ""] = /token: "([^"]+)"/.exec(await readFile(kubeconfig, "utf8")) ?? [];
    proxy = await recordingProxy(lab(), token);
  });
  after(async () => proxy.close());

  /** Runs the CLI as the reviewer; what it asked of the API server is kept. */
  async function asReviewer(
    args: readonly string[],
    edits: Readonly<Record<string, unknown>> = {},
  ) {
    file().edit({ ...ACCESS, ...edits });
    const path = join(dirname(file().path), "kubeconfig");
    // Without TLS client-go sends no token, the proxy adds it.
    const cluster = { server: proxy.url, "insecure-skip-tls-verify": true };
    const { context } = lab();
    await writeFile(
      path,
      JSON.stringify({
        clusters: [{ name: "proxy", cluster }],
        users: [{ name: "reviewer", user: {} }],
        contexts: [{ name: context, context: { cluster: "proxy", user: "reviewer" } }],
      }),
    );
    const outcome = await run(args, { KUBECONFIG: path });
    const requests = proxy.take();
    asked.push(...requests);
    return { code: outcome.code, text: textOf(outcome), requests };
  }

  it("A13 previews an edit, asks for nothing but reads and dry runs, and says what was not checked", async () => {
    const { code, text, requests } = await asReviewer(["preview"], { "reasoning.replicas": 1 });
    expect(code, text).to.equal(0);
    expect(text).to.include("3 of 4 cards used on worker-1, 1 free").and.include("~ 1 to update");
    expect(text.match(/not checked: .*/g)).to.deep.equal([
      "not checked: what the API server itself would refuse (this identity may not patch in namespace llm-serving, " +
        "which a server-side dry run needs)",
    ]);
    const others = requests.filter(
      (request) => !isQuestion(request) && !(request.method === "GET" && request.status === 200),
    );
    expect(others.map(isDryRun)).to.deep.equal([true]);
    expect(others.map(({ status }) => status)).to.deep.equal([403]);
  });

  it("A13 has an edit refused that asks for more cards than there are", async () => {
    const { code, text } = await asReviewer(["preview"], { "reasoning.replicas": 3 });
    expect(code).not.to.equal(0);
    expect(text).to.include("worker-1 is asked for 5 cards");
  });

  const drift = ["preview", "--refresh", "--expect-no-changes"];

  it("A14 finds no drift where there is none, and reads everything that it has to", async () => {
    const { code, text, requests } = await asReviewer(drift);
    expect(code, text).to.equal(0);
    expect(requests.filter(({ status }) => status >= 400)).to.deep.equal([]);
  });

  it("A14 finds what a hand did, and leaves it and the state alone", async () => {
    // A Job in place of the ConfigMap: with both, the stack has had every kind of object that the program makes.
    const edits = { "clefServe.bootstrap": "image" };
    await updated({ ...ACCESS, ...edits });
    const state = await run(["stack", "export"]);
    const patch = '{"spec":{"ports":[{"port":80,"targetPort":8081}]}}';
    const service = ["service", "clef-serve", "--namespace=llm-serving"];
    await kubectl(lab(), "patch", ...service, "--patch", patch);
    const { code, text } = await asReviewer(drift, edits);
    expect(code).not.to.equal(0);
    expect(text).to.match(/~ +kubernetes:core\/v1:Service clef-serve update/);
    expect((await run(["stack", "export"])).stdout).to.equal(state.stdout);
    await kubectl(lab(), "patch", ...service, "--patch", patch.replace("8081", "8080"));
  });

  it("is denied every update", async () => {
    const before = await objectVersions(lab());
    const { code, text, requests } = await asReviewer(["up", "--yes", "--skip-preview"], {
      "reasoning.replicas": 1,
    });
    expect(code).not.to.equal(0);
    // Whichever object comes first.
    expect(text).to.match(/cannot (create|patch) resource "\w+" in API group/);
    const writes = requests.filter(
      (request) => request.method !== "GET" && !isQuestion(request) && request.status !== 403,
    );
    expect(writes).to.deep.equal([]);
    expect(await objectVersions(lab())).to.equal(before);
  });

  it("is denied every other write, and every Secret", async () => {
    const denied = [
      "delete service coder-predictor",
      "delete namespace llm-serving",
      "annotate service coder-predictor a=b",
      "scale deployment candle-vllm --replicas=0",
      "rollout restart deployment candle-vllm",
      "create configmap new",
      "delete pods --all",
      "get secrets",
      `create token ${REVIEWER}`,
      "label node worker-1 a=b",
      `delete clusterrole ${REVIEWER}`,
      "delete validatingadmissionpolicy llm-serving-delete-guard",
    ];
    for (const command of denied) {
      const args = [...command.split(" "), "--namespace=llm-serving"];
      const { code, stderr } = await runIn(lab(), "kubectl", args, {
        env: { KUBECONFIG: kubeconfig },
      });
      expect(code, command).not.to.equal(0);
      expect(stderr, command).to.include(`system:serviceaccount:llm-serving:${REVIEWER}`);
      expect(stderr, command).to.include("is forbidden");
    }
  });

  it("has the alerts and the scrape that a cluster with the Prometheus operator's kinds gets", async () => {
    const names = ["get", "prometheusrules,podmonitors", "--namespace=llm-serving", "-o=name"];
    expect((await kubectl(lab(), ...names)).trim().split("\n")).to.deep.equal([
      "prometheusrule.monitoring.coreos.com/llm-serving-alerts",
      "podmonitor.monitoring.coreos.com/reasoning",
    ]);
  });

  it("has no right that these runs did not need, but to look at one node or pod", async () => {
    const roles = await Promise.all([
      kubectlJson(lab(), "get", "role", REVIEWER, "--namespace=llm-serving"),
      kubectlJson(lab(), "get", "clusterrole", REVIEWER),
    ]);
    const needed = new Set(asked.map(readBy));
    const idle = (roles as Role[]).flatMap(allowedBy).filter((right) => !needed.has(right));
    expect(idle).to.deep.equal(["/nodes get", "/pods get"]);
  });
});
