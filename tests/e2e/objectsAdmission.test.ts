import { readFile } from "node:fs/promises";
import { expect } from "chai";
import { SAYS } from "../attacks/attempts.ts";
import { apply, eventually, kubectl, kubectlJson, runIn, useLab } from "../support/lab.ts";

const HERE = "--namespace=llm-serving";

// The admission guard alone, as the program makes it: what it denies, and that it hinders nothing else.
describe("the admission guard in a cluster", function () {
  this.timeout(300_000);
  const lab = useLab("test-admission");

  const service = (name: string, namespace: string) => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace },
    spec: { ports: [{ port: 80 }], selector: { app: "x" } },
  });
  const refused = async (...args: string[]) => {
    const { code, stderr } = await runIn(lab(), "kubectl", ["delete", ...args]);
    return code !== 0 && SAYS.admission.test(stderr);
  };
  const uidOf = async (...what: string[]) => {
    const { metadata } = (await kubectlJson(lab(), "get", ...what)) as {
      metadata: { uid: string };
    };
    return metadata.uid;
  };

  before(async () => {
    const text = await readFile(new URL("../golden/dev.json", import.meta.url), "utf8");
    const { resources } = JSON.parse(text) as { resources: Record<string, object> };
    const guard = Object.entries(resources).filter(([urn]) => urn.includes(":ValidatingAdmission"));
    expect(guard).to.have.length(2);
    await apply(lab(), [
      ...guard.map(([, object]) => ({ ...object, "(options)": undefined })),
      ...["llm-serving", "elsewhere"].flatMap((namespace) => [
        { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
        service("coder-predictor", namespace),
        service("other", namespace),
      ]),
    ]);
    // The API server takes a moment to heed a new policy; a dry run is refused like the deletion itself.
    await eventually(async () =>
      (await refused("service", "coder-predictor", HERE, "--dry-run=server")) ? true : undefined,
    );
  });

  it("A15 denies the Service and the namespace alone: by name, by label, without annotation", async () => {
    expect(await refused("service", "coder-predictor", HERE)).to.equal(true);
    expect(await refused("services", "--all", HERE)).to.equal(true);
    expect(await refused("namespace", "llm-serving")).to.equal(true);
  });

  it("hinders no other Service, no namesake elsewhere and no other namespace", async () => {
    await apply(lab(), [service("other", "llm-serving")]);
    expect(await refused("service", "other", HERE)).to.equal(false);
    expect(await refused("service", "coder-predictor", "--namespace=elsewhere")).to.equal(false);
    expect(await refused("namespace", "elsewhere")).to.equal(false);
  });

  it("hinders no garbage collection: what a Deployment owns goes with it", async () => {
    await kubectl(lab(), "create", "deployment", "x", "--image=lab.invalid/x:1", HERE);
    const pods = () => kubectl(lab(), "get", "pods,replicasets", "-l=app=x", "-o=name", HERE);
    await eventually(async () => ((await pods()).includes("pod/") ? true : undefined));
    await kubectl(lab(), "delete", "deployment", "x", HERE);
    await eventually(async () => ((await pods()) === "" ? true : undefined));
  });

  it("hinders no edit of the Service", async () => {
    await kubectl(lab(), "label", "service", "coder-predictor", "a=b", HERE);
  });

  it("lets the Service go with an annotation of its own uid, and no other", async () => {
    const name = ["service", "coder-predictor", HERE];
    const uid = await uidOf(...name);
    await kubectl(lab(), "annotate", ...name, `llm-serving/allow-delete=${uid}x`);
    expect(await refused(...name)).to.equal(true);
    await kubectl(lab(), "annotate", "--overwrite", ...name, `llm-serving/allow-delete=${uid}`);
    expect(await refused(...name)).to.equal(false);
    await apply(lab(), [service("coder-predictor", "llm-serving")]);
    expect(await refused(...name)).to.equal(true);
  });

  it("lets the annotated namespace go with the Service in it, which does not keep it Terminating", async () => {
    const name = ["namespace", "llm-serving"];
    await kubectl(lab(), "annotate", ...name, "llm-serving/allow-delete=another");
    expect(await refused(...name)).to.equal(true);
    const note = `llm-serving/allow-delete=${await uidOf(...name)}`;
    await kubectl(lab(), "annotate", "--overwrite", ...name, note);
    await kubectl(lab(), "delete", ...name, "--timeout=30s");
  });
});
