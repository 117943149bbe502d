import { execFile } from "node:child_process";
import { readdir, readFile, readlink, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { startLab, stopLab } from "../../lab/lab.ts";
import { processesOf } from "../../lab/labProcesses.ts";
import {
  apply,
  cardsBound,
  eventually,
  kubectl,
  kubectlJson,
  memoryMiBOf,
  runIn,
  useLab,
} from "../support/lab.ts";

const repository = resolve(import.meta.dirname, "..", "..");

function deployment(app: string, cards: number): object {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: app, namespace: "default" },
    spec: {
      strategy: { type: "Recreate" },
      selector: { matchLabels: { app } },
      template: {
        metadata: { labels: { app } },
        spec: {
          containers: [
            {
              name: app,
              image: "lab.invalid/any:1",
              resources: { limits: { "nvidia.com/gpu": cards } },
            },
          ],
        },
      },
    },
  };
}

function service(app: string): object {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: app, namespace: "default" },
    spec: { selector: { app }, ports: [{ port: 80, targetPort: 8080 }] },
  };
}

/** 127.0.0.1 as /proc/net/tcp writes it on a little-endian machine. */
const loopback = "0100007F";

/** Local addresses on which the processes listen, one per socket, as Linux keeps them. */
async function listeningAddresses(pids: readonly number[]): Promise<string[]> {
  const files = await Promise.all(
    pids.map(async (pid) => {
      const folder = `/proc/${pid}/fd`;
      const links = (await readdir(folder)).map((fd) => readlink(join(folder, fd)));
      return Promise.all(links.map((link) => link.catch(() => "")));
    }),
  );
  const ours = new Set(files.flat());
  const tables = await Promise.all(["tcp", "tcp6"].map((t) => readFile(`/proc/net/${t}`, "utf8")));
  return tables.flatMap((table) =>
    table.split("\n").flatMap((line) => {
      const [, local = "", , state, , , , , , inode] = line.trim().split(/\s+/);
      const listens = state === "0A" && ours.has(`socket:[${inode ?? ""}]`);
      return listens ? [local.replace(/:.*/, "")] : [];
    }),
  );
}

describe("a lab", function () {
  this.timeout(300_000);
  const lab = useLab("test-lab", { coldStartSeconds: { "clef-serve": 3 } });

  it("has worker-1 with four cards, Ready", async () => {
    const { items } = (await kubectlJson(lab(), "get", "nodes")) as {
      items: {
        metadata: { labels: Record<string, string> };
        status: { allocatable: Record<string, string>; capacity: Record<string, string> };
      }[];
    };
    expect(items).to.have.length(1);
    expect(items[0]?.metadata.labels["kubernetes.io/hostname"]).to.equal("worker-1");
    expect(items[0]?.status.allocatable["nvidia.com/gpu"]).to.equal("4");
    expect(items[0]?.status.capacity["nvidia.com/gpu"]).to.equal("4");
  });

  it("is marked on kube-system, by its name", async () => {
    const { metadata } = (await kubectlJson(lab(), "get", "namespace", "kube-system")) as {
      metadata: { labels: Record<string, string> };
    };
    expect(metadata.labels["llm-serving/lab"]).to.equal("test-lab");
  });

  it("gives clef-serve its start-up time, then an endpoint", async () => {
    const begin = Date.now();
    await apply(lab(), [deployment("clef-serve", 1), service("clef-serve")]);
    const address = (): Promise<string> =>
      kubectl(
        lab(),
        "get",
        "endpointslices",
        "-l=kubernetes.io/service-name=clef-serve",
        "-o=jsonpath={.items[*].endpoints[*].addresses[*]}",
      );
    await eventually(async () =>
      (await cardsBound(lab()))["worker-1"] === undefined ? undefined : true,
    );
    expect(await cardsBound(lab())).to.deep.equal({ "worker-1": { "clef-serve": 1 } });
    expect(
      await kubectl(
        lab(),
        "get",
        "pods",
        "-l=app=clef-serve",
        "-o=jsonpath={.items[*].status.phase}{.items[*].status.podIP}",
      ),
    ).to.equal("Pending");
    expect(await address()).to.equal("");
    await eventually(async () => ((await address()) === "" ? undefined : true));
    expect((Date.now() - begin) / 1000).to.be.within(3, 6);
    expect(
      await kubectl(
        lab(),
        "get",
        "deployment",
        "clef-serve",
        "-o=jsonpath={.status.readyReplicas}",
      ),
    ).to.equal("1");
  });

  it("is the lab of `make preview` in a shell that has its environment, and stays as it is", async () => {
    const print = ["lab/withEnvironment.ts", "dev", "printenv", "KUBECONFIG", "PULUMI_BACKEND_URL"];
    const pids = await processesOf(lab().folder);
    // The backend tells which lab: a kubeconfig of the user's must not be used with its stack.
    const env = { KUBECONFIG: "/dev/null" };
    const { code, stdout, stderr } = await runIn(lab(), process.execPath, print, { env });
    expect(code, stderr).to.equal(0);
    expect(stdout).to.equal(`${lab().kubeconfig}\n${lab().env.PULUMI_BACKEND_URL ?? ""}\n`);
    expect(stderr).to.contain("stack dev: on lab test-lab, whose environment this shell has");
    expect(await processesOf(lab().folder)).to.deep.equal(pids);
  });

  it("that has been stopped is not made again by `make preview` in a shell that has its environment", async () => {
    const backend = (lab().env.PULUMI_BACKEND_URL ?? "").replace("/test-lab/", "/test-lab-gone/");
    const print = ["lab/withEnvironment.ts", "dev", "true"];
    const env = { PULUMI_BACKEND_URL: backend };
    const { code, stderr } = await runIn(lab(), process.execPath, print, { env });
    expect(code).to.equal(1);
    expect(stderr).to.contain("not there; run `make lab NAME=test-lab-gone`");
  });

  it("keeps a pod Pending that asks for more cards than are free", async () => {
    await apply(lab(), [deployment("big", 4)]);
    const conditions = () =>
      kubectl(
        lab(),
        "get",
        "pods",
        "-l=app=big",
        "-o=jsonpath={.items[*].status.conditions[*].message}",
      );
    expect(await eventually(async () => (await conditions()) || undefined)).to.match(
      /Insufficient nvidia.com\/gpu/,
    );
    await kubectl(lab(), "delete", "deployment", "big");
  });

  it("lets a deleted pod hold its card for the termination time", async () => {
    await kubectl(lab(), "delete", "deployment", "clef-serve", "--wait=false");
    const pods = () =>
      kubectl(
        lab(),
        "get",
        "pods",
        "-l=app=clef-serve",
        "-o=jsonpath={.items[*].metadata.deletionTimestamp}{.items[*].metadata.name}",
      );
    await eventually(async () => ((await pods()).includes("Z") ? true : undefined));
    expect(await cardsBound(lab())).to.deep.equal({});
    const begin = Date.now();
    await eventually(async () => ((await pods()) === "" ? true : undefined));
    expect((Date.now() - begin) / 1000).to.be.within(0.5, 3);
  });

  it("fails a pod on request, and its Deployment replaces it", async () => {
    await apply(lab(), [deployment("candle-vllm", 1)]);
    const running = () =>
      kubectl(
        lab(),
        "get",
        "pods",
        "-l=app=candle-vllm",
        "--field-selector=status.phase=Running",
        "-o=jsonpath={.items[*].metadata.name}",
      );
    const first = await eventually(async () => (await running()) || undefined);
    await kubectl(lab(), "annotate", "pod", first, "llm-serving-lab/fail=true");
    const second = await eventually(async () => (await running()).replace(first, "") || undefined);
    expect(second).not.to.equal(first);
    expect(await kubectl(lab(), "get", "pod", first, "-o=jsonpath={.status.phase}")).to.equal(
      "Failed",
    );
    expect(await cardsBound(lab())).to.deep.equal({ "worker-1": { "candle-vllm": 1 } });
  });

  it("takes less than 1 GiB of memory", async function () {
    if (process.platform !== "linux") this.skip();
    expect(await memoryMiBOf(lab())).to.be.within(100, 1024);
  });

  it("listens on 127.0.0.1 only", async function () {
    if (process.platform !== "linux") this.skip();
    const pids = (await processesOf(lab().folder)).map(({ pid }) => pid);
    const addresses = await listeningAddresses(pids);
    expect(addresses).to.have.length(6);
    expect(new Set(addresses)).to.deep.equal(new Set([loopback]));
  });

  it("is usable in sh by its env file alone, and its stack dev is there", async () => {
    const script = [
      `. ${join(lab().folder, "env")}`,
      "kubectl config current-context",
      "kubectl get nodes -o name",
      "pulumi stack ls --json",
    ].join("\n");
    const { stdout } = await promisify(execFile)("/bin/sh", ["-euc", script], {
      cwd: repository,
      env: { PATH: process.env.PATH, HOME: process.env.HOME },
    });
    const [context, node, ...stacks] = stdout.split("\n");
    expect([context, node]).to.deep.equal(["llm-lab", "node/worker-1"]);
    expect(
      (JSON.parse(stacks.join("\n")) as { name: string }[]).map(({ name }) => name),
    ).to.deep.equal(["dev"]);
  });

  it("is reused when the same is asked again, in less than half a second", async () => {
    const begin = performance.now();
    const again = await startLab({ name: "test-lab", coldStartSeconds: { "clef-serve": 3 } });
    const seconds = (performance.now() - begin) / 1000;
    expect([again.reused, again.apiServerPort]).to.deep.equal([true, lab().apiServerPort]);
    expect(seconds).to.be.below(0.5);
  });

  it("runs beside another one, in a folder with blanks and quotes in its name", async () => {
    const root = join(repository, ".lab", "it's another");
    const other = await startLab({
      name: "test-lab-other",
      root,
      nodes: [
        {
          name: "worker-2",
          cards: 2,
          taints: [{ key: "nvidia.com/gpu", value: "present", effect: "NoSchedule" }],
        },
      ],
    });
    try {
      const tainted = "-o=jsonpath={.items[*].metadata.name} {.items[*].spec.taints[*].key}";
      expect(await kubectl(other, "get", "nodes", tainted)).to.equal("worker-2 nvidia.com/gpu");
      expect(await kubectl(lab(), "get", "nodes", tainted)).to.equal("worker-1 ");
    } finally {
      await stopLab("test-lab-other", root);
      await rm(root, { recursive: true });
    }
    expect(await processesOf(other.folder)).to.deep.equal([]);
    expect(await processesOf(lab().folder)).to.have.length(5);
  });
});
