import { expect } from "chai";
import { setTimeout as sleep } from "node:timers/promises";
import { textOf } from "../attacks/attempts.ts";
import { must, NAMESPACE_FLAG, Victim } from "../attacks/victim.ts";
import { apply, kubectl, kubectlJson, useLab } from "../support/lab.ts";
import { only } from "../support/objects.ts";

interface Live {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly creationTimestamp: string;
    readonly deletionTimestamp?: string;
  };
  readonly spec?: {
    readonly containers?: readonly { readonly image: string }[];
  };
  readonly status: {
    readonly phase?: string;
    readonly startTime?: string;
    readonly completionTime?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

const LOCK = "images/clef-serve/requirements.txt";
const PIP_SAYS = "ERROR: No matching distribution found for extra==1.0";

// The Job that prepares clef-serve's next start, with the real provider, Job controller and scheduler. The lab's pods run
// nothing: what the script does is tested in clefPackages.test.ts.
describe("clefServe.bootstrap prepared and image on a lab", function () {
  this.timeout(300_000);
  const lab = useLab("test-prepared");
  let victim: Victim;
  before(async () => {
    victim = await Victim.on(lab());
    await apply(lab(), CLAIM);
  });
  after(async () => {
    await victim.remove();
  });

  const list = async (kind: string, ...selector: string[]) =>
    ((await kubectlJson(lab(), "get", kind, NAMESPACE_FLAG, ...selector)) as { items: Live[] })
      .items;
  const server = async () => only(await list("pods", "-l=app=clef-serve"), "pod of clef-serve");
  const job = async () => only(await list("jobs"), "Job");
  const stack = (from: string, to: string) => victim.edit({ file: "Pulumi.dev.yaml", from, to });

  /** The Job had succeeded before a pod of the newest template was made. */
  async function expectJobFirst(): Promise<void> {
    const { status } = await job();
    const sets = await list("replicasets", "-l=app=clef-serve");
    const newest = sets.map(({ metadata }) => Date.parse(metadata.creationTimestamp));
    const completed = Date.parse(status.completionTime ?? "");
    // Whole seconds, and the Job takes two.
    expect(completed).to.be.above(Date.parse(status.startTime ?? ""));
    expect(Math.max(...newest)).to.be.at.least(completed);
    expect(status.conditions?.find(({ type }) => type === "Complete")?.status).to.equal("True");
  }

  /** Lets every pod of the Job fail as the kubelet would say it, until `over` says so. */
  async function failJobs(over: () => boolean): Promise<number> {
    const failed = new Set<string>();
    while (!over()) {
      for (const { metadata, status } of await list("pods", "-l=app=clef-serve-prepare")) {
        const begun = status.conditions?.some(({ type }) => type === "Initialized") ?? false;
        if (!begun || !["Pending", "Running"].includes(status.phase ?? "")) continue;
        const patch = ["--subresource=status", `--patch=${JSON.stringify({ status: FAILED })}`];
        await kubectl(lab(), "patch", "pod", metadata.name, NAMESPACE_FLAG, ...patch);
        failed.add(metadata.name);
      }
      await sleep(100);
    }
    return failed.size;
  }

  it("E09 refuses a pull secret that is not in the namespace, in the preview", async () => {
    await stack("    requireDigests: false", "    requireDigests: false\n    pullSecret: missing");
    const preview = await victim.preview();
    await victim.undoEdits();
    expect(preview.code).to.not.equal(0);
    expect(textOf(preview)).to.include(
      "llm-serving:registry.pullSecret = missing: namespace llm-serving has no such Secret",
    );
  });

  it("D05 refuses a lock whose torch has no kernels for V100, in the preview, naming file and line", async () => {
    await victim.edit({ file: LOCK, from: "\ntorch==2.7.1 ", to: "\ntorch==2.11.0 " });
    const preview = await victim.preview();
    await victim.undoEdits();
    expect(preview.code).to.not.equal(0);
    expect(textOf(preview)).to.match(
      /images\/clef-serve\/requirements\.txt:\d+ = torch==2\.11\.0: its ordinary wheel is built for a CUDA after 12\.6/,
    );
  });

  it("replaces no pod before the Job has succeeded", async () => {
    await stack(
      "    image: lab.invalid/python:3.12\n",
      "    image: lab.invalid/python:3.12\n    bootstrap: prepared\n    packagesClaim: packages\n",
    );
    await victim.mustUp();
    await expectJobFirst();
    expect((await server()).status.phase).to.equal("Running");
    must(await victim.preview("--expect-no-changes"), "preview");
  });

  it("ends `up` with pip's reason when the Job fails, and leaves the old pod running", async () => {
    const [before, { metadata: former }] = [await server(), await job()];
    await victim.append(LOCK, `extra==1.0 --hash=sha256:${"0".repeat(64)}\n`);
    let over = false;
    const failing = failJobs(() => over);
    const up = await victim.up();
    over = true;
    expect(up.code).to.not.equal(0);
    expect(textOf(up)).to.include(PIP_SAYS).and.include("BackoffLimitExceeded");
    expect(await failing).to.equal(2);
    const after = await server();
    expect(after.metadata.uid).to.equal(before.metadata.uid);
    expect(after.metadata.deletionTimestamp).to.equal(undefined);
    // The Job that the running pod came from goes with the update that replaces the pod.
    expect((await list("jobs")).map(({ metadata }) => metadata.name)).to.include(former.name);
  });

  it("makes the failed Job anew in the next `up`, then replaces the pod and removes the former Job", async () => {
    const before = await server();
    const failed = (await list("jobs")).find(({ status }) =>
      status.conditions?.some(({ type, status: is }) => type === "Failed" && is === "True"),
    );
    await victim.mustUp();
    const now = await job();
    expect(now.metadata.name).to.equal(failed?.metadata.name);
    expect(now.metadata.uid).to.not.equal(failed?.metadata.uid);
    expect((await server()).metadata.uid).to.not.equal(before.metadata.uid);
  });

  it("E09 pulls an image with everything in it before the old pod goes, by a Job from that image", async () => {
    const image = `lab.invalid/clef-serve@sha256:${"5".repeat(64)}`;
    await stack(
      "    image: lab.invalid/python:3.12\n    bootstrap: prepared\n    packagesClaim: packages\n",
      `    image: ${image}\n    bootstrap: image\n`,
    );
    await victim.mustUp();
    await expectJobFirst();
    const containers = (object: Live) => only(object.spec?.containers ?? [], "container");
    const pulled = only(await list("pods", "-l=app=clef-serve-prepare"), "pod of the Job");
    expect(containers(pulled).image).to.equal(image);
    const serving = await server();
    expect(serving.status.phase).to.equal("Running");
    expect(containers(serving)).to.include({ image }).and.not.have.property("command");
    must(await victim.preview("--expect-no-changes"), "preview");
  });
});

const FAILED = {
  phase: "Failed",
  containerStatuses: [
    {
      name: "prepare",
      image: "",
      imageID: "",
      ready: false,
      restartCount: 0,
      state: { terminated: { exitCode: 1, reason: "Error", message: PIP_SAYS } },
    },
  ],
};

/** A claim that is bound without a provisioner; nobody looks into it. */
const CLAIM = [
  {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "packages" },
    spec: {
      capacity: { storage: "20Gi" },
      accessModes: ["ReadWriteOnce"],
      hostPath: { path: "/nonexistent" },
      claimRef: { namespace: "llm-serving", name: "packages" },
    },
  },
  {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "packages", namespace: "llm-serving" },
    spec: {
      accessModes: ["ReadWriteOnce"],
      storageClassName: "",
      resources: { requests: { storage: "20Gi" } },
    },
  },
];
