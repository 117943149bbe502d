import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect } from "chai";
import { SAYS, textOf } from "../attacks/attempts.ts";
import { STRIKES } from "../attacks/edits.ts";
import { must, NAMESPACE_FLAG, Victim } from "../attacks/victim.ts";
import { eventually, kubectl, kubectlJson, type ServiceIdentity, useLab } from "../support/lab.ts";

interface Live {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly spec: {
    readonly replicas?: number;
    readonly template?: { spec: { containers: readonly { image: string; args: string[] }[] } };
    readonly ports?: readonly { port: number; targetPort: number }[];
  };
}

// Cases of Pulumi and Kubernetes objects, each with its whole kind, on one lab.
describe("objects of the dev stack", function () {
  this.timeout(300_000);
  const lab = useLab("test-objects");
  let victim: Victim;
  let identity: ServiceIdentity;
  before(async () => {
    victim = await Victim.on(lab());
    identity = await victim.identity();
  });
  beforeEach(async () => {
    await victim.undoEdits();
  });
  afterEach(async () => {
    expect(await victim.identity()).to.deep.equal(identity);
  });
  after(async () => {
    await victim.remove();
  });

  const live = async (...what: string[]) =>
    (await kubectlJson(lab(), "get", ...what, NAMESPACE_FLAG)) as Live;
  /** Name of the ConfigMap that clef-serve's pods refer to. */
  const bootFiles = async () => {
    const args = ["get", "deployment", "clef-serve", NAMESPACE_FLAG, "-o=yaml"];
    return /clef-serve-boot-[0-9a-f]{10}/.exec(await kubectl(lab(), ...args))?.[0] ?? "none";
  };
  /** Moves every component below a new one. */
  const belowAnother = (aliases: string) =>
    victim.edit({
      file: "index.ts",
      from: "const opts = { providers: { kubernetes: provider } };",
      to:
        'const above = new pulumi.ComponentResource("llm-serving:index:Above", "above");\n' +
        `const opts = { providers: { kubernetes: provider }, parent: above${aliases} };`,
    });
  const stackFile = (from: string, to: string) =>
    victim.edit({ file: "Pulumi.dev.yaml", from, to });

  it("A01 keeps the ClusterIP through edits of ports, labels and selector", async () => {
    const file = "components/coderPredictor.ts";
    const ports = "port: 8080, targetPort: CONTAINER_PORT },\n";
    await victim.edit({
      file,
      from: ports,
      to: `${ports}      { name: "more", protocol: "TCP", port: 9090, targetPort: CONTAINER_PORT },\n`,
    });
    const labels = "labels: labelsOf(CODER_PREDICTOR),";
    await victim.edit({ file, from: labels, to: 'labels: { app: "coder-predictor", more: "1" },' });
    await stackFile(
      "    backend: candle-vllm\n",
      "    backend: candle-vllm-next\n    acceptUnready: true\n",
    );
    await victim.mustUp();
    expect((await live("service", "coder-predictor")).spec.ports).to.have.length(3);
    expect(await victim.identity()).to.deep.equal(identity);
    await victim.undoEdits();
    await victim.mustUp();
    expect((await live("service", "coder-predictor")).spec.ports).to.have.length(2);
  });

  it("A01 refuses a ClusterIP, a name and a namespace of its own in the preview, naming the field", async () => {
    const file = "components/coderPredictor.ts";
    const type = '    type: "ClusterIP",';
    const edits = [
      ["spec.clusterIP", { file, from: type, to: `${type}\n    clusterIP: "10.96.0.99",` }],
      ["metadata.name", STRIKES.renamed],
      [
        "metadata.namespace",
        { file, from: "          namespace: NAMESPACE,", to: '          namespace: "default",' },
      ],
    ] as const;
    for (const [field, edit] of edits) {
      await victim.edit(edit);
      const preview = await victim.preview();
      expect(preview.code, field).to.not.equal(0);
      expect(textOf(preview)).to.include(`Service coder-predictor: ${field} = `);
      await victim.undoEdits();
    }
  });

  it("A04 moves every object below another component by aliases, without create or delete", async () => {
    const deployment = await live("deployment", "candle-vllm");
    await belowAnother(", aliases: [{ parent: pulumi.rootStackResource }]");
    const preview = must(await victim.preview(), "preview");
    expect(preview.stdout).to.include("+ 1 to create").and.not.include("to delete");
    await victim.mustUp();
    expect((await live("deployment", "candle-vllm")).metadata.uid).to.equal(
      deployment.metadata.uid,
    );
    // The way back needs the aliases of the other direction; the state of before is as good.
    await victim.restore();
  });

  it("A04 refuses the same move without aliases, in the preview", async () => {
    await belowAnother("");
    const preview = await victim.preview();
    expect(preview.code).to.not.equal(0);
    expect(textOf(preview)).to.match(SAYS.engine);
  });

  it("A11 parks the coder behind its Service: up and refresh end, the Service stays", async () => {
    await stackFile("    # The coder takes one card.\n    replicas: 1", "    replicas: 0");
    await stackFile(
      "    backend: candle-vllm\n",
      "    backend: candle-vllm\n    acceptUnready: true\n",
    );
    const up = must(await victim.up(), "up");
    expect(up.seconds).to.be.below(60);
    const refresh = must(await victim.pulumi(["refresh", "--yes", "--skip-preview"]), "refresh");
    expect(refresh.seconds).to.be.below(60);
    expect((await live("deployment", "candle-vllm")).spec.replicas).to.equal(0);
    await victim.undoEdits();
    await victim.mustUp();
  });

  it("A14 tells of a hand's edit in the preview and at the end of a plain up, and restores it with --refresh", async () => {
    const patch = (target: string, ...args: string[]) =>
      kubectl(lab(), "patch", target, NAMESPACE_FLAG, ...args);
    await patch(
      "service/coder-predictor",
      "--type=json",
      '--patch=[{"op":"replace","path":"/spec/ports/0/targetPort","value":8081}]',
    );
    await kubectl(lab(), "scale", "deployment/candle-vllm", "--replicas=0", NAMESPACE_FLAG);
    const preview = must(await victim.preview(), "preview");
    expect(preview.stdout).to.include("spec.ports is ");
    const scaled =
      "spec.replicas is 0 in the cluster, by a hand or an autoscaler, and 1 in the stack";
    expect(preview.stdout).to.include(`Deployment llm-serving/candle-vllm: ${scaled}`);
    const up = await victim.up();
    expect(up.code).to.not.equal(0);
    expect(textOf(up)).to.include(`candle-vllm: ${scaled}`);
    expect((await live("service", "coder-predictor")).spec.ports?.[0]?.targetPort).to.equal(8081);
    await victim.mustUp("--refresh");
    expect((await live("service", "coder-predictor")).spec.ports?.[0]?.targetPort).to.equal(8080);
    expect((await live("deployment", "candle-vllm")).spec.replicas).to.equal(1);
  });

  it("A15 keeps the namespace and what others put into it, whatever is renamed or destroyed", async () => {
    await kubectl(lab(), "create", "configmap", "foreign", NAMESPACE_FLAG);
    await victim.edit({
      file: "components/servingNamespace.ts",
      from: "          name: NAMESPACE,\n          labels",
      to: '          name: "llm-serving-2",\n          labels',
    });
    for (const outcome of [await victim.preview(), await victim.up()]) {
      expect(outcome.code).to.not.equal(0);
      expect(textOf(outcome)).to.match(SAYS.engine);
    }
    await victim.undoEdits();
    const destroy = await victim.pulumi(["destroy", "--yes", "--skip-preview"]);
    expect(destroy.code).to.not.equal(0);
    await victim.pulumi(["destroy", "--yes", "--skip-preview", "--exclude-protected"]);
    expect((await live("configmap", "foreign")).metadata.name).to.equal("foreign");
    await kubectl(lab(), "delete", "configmap", "foreign", NAMESPACE_FLAG);
    await victim.mustUp("--refresh");
  });

  it("A16 changes a boot file without a moment in which a referenced ConfigMap is missing", async () => {
    const deployment = await live("deployment", "clef-serve");
    const watch = spawn(
      "kubectl",
      ["get", "configmaps", NAMESPACE_FLAG, "--watch", "--output-watch-events", "-o=json"],
      { env: lab().env, stdio: ["ignore", "pipe", "ignore"] },
    );
    let events = "";
    watch.stdout.setEncoding("utf8").on("data", (text: string) => (events += text));
    try {
      await eventually(() => Promise.resolve(events.includes("clef-serve-boot-") || undefined));
      const file = "images/clef-serve/requirements.txt";
      const former = await bootFiles();
      await victim.append(file, "# another comment\n");
      await victim.mustUp();
      const latter = await bootFiles();
      expect(latter).to.not.equal(former);
      expect((await live("deployment", "clef-serve")).metadata.uid).to.equal(
        deployment.metadata.uid,
      );
      expect((await live("configmap", latter)).metadata.name).to.equal(latter);
      await eventually(() => Promise.resolve(events.includes(latter) || undefined));
      // The new one is there before the old one goes, and the one in use is never deleted.
      const seen = [
        ...events.matchAll(/"type": ?"(ADDED|DELETED)"[^]*?"name": ?"(clef-serve-boot-\w+)"/g),
      ];
      const order = seen.map(([, type, name]) => `${type ?? ""} ${name ?? ""}`);
      expect(order.indexOf(`ADDED ${latter}`)).to.be.greaterThan(-1);
      expect(order).to.not.include(`DELETED ${latter}`);
      const deleted = order.indexOf(`DELETED ${former}`);
      if (deleted !== -1) expect(deleted).to.be.greaterThan(order.indexOf(`ADDED ${latter}`));
    } finally {
      watch.kill();
      await once(watch, "close");
    }
    await victim.undoEdits();
    await victim.mustUp();
  });

  it("A17 refuses the removal of coder-predictor in the preview, with and without protect", async () => {
    await victim.edit(STRIKES.removed);
    const first = await victim.preview();
    expect(first.code).to.not.equal(0);
    expect(textOf(first)).to.match(SAYS.engine).and.include("coder-predictor");
    await victim.edit({
      file: "components/guards.ts",
      from: "return { protect: true,",
      to: "return { protect: false,",
    });
    const second = await victim.preview();
    expect(second.code).to.not.equal(0);
    expect(textOf(second)).to.match(SAYS.engine).and.include("coder-predictor");
  });

  it("A18 lets the program own the image: the preview names kubectl's, and up takes it back", async () => {
    const image = "server=lab.invalid/by-hand:1";
    await kubectl(lab(), "set", "image", "deployment/clef-serve", image, NAMESPACE_FLAG);
    await stackFile("python:3.12", "python:3.13");
    const preview = await victim.preview();
    expect(preview.code).to.not.equal(0);
    expect(textOf(preview)).to.include(
      'conflict with "kubectl-set" using apps/v1: .spec.template.spec.containers[name="server"].image',
    );
    // The provider takes over kubectl's managers in a real update alone.
    await victim.mustUp();
    const { spec } = await live("deployment", "clef-serve");
    expect(spec.template?.spec.containers[0]?.image).to.equal("lab.invalid/python:3.13");
    must(await victim.preview("--expect-no-changes"), "preview");
  });

  it("A18 lets the program own the image although it did not change it: up --refresh takes it back", async () => {
    const image = "server=lab.invalid/by-hand:2";
    await kubectl(lab(), "set", "image", "deployment/clef-serve", image, NAMESPACE_FLAG);
    await victim.mustUp("--refresh");
    const { spec } = await live("deployment", "clef-serve");
    expect(spec.template?.spec.containers[0]?.image).to.equal("lab.invalid/python:3.12");
  });
});
