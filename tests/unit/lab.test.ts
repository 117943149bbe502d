import { execFileSync, spawnSync } from "node:child_process";
import { expect } from "chai";
import {
  checkedLabName,
  envFileText,
  fingerprintOf,
  kubeconfigText,
  labOfBackend,
  labPaths,
  labVariables,
  parsedRecord,
  prependedPath,
} from "../../lab/labFolder.ts";
import { labProcessName } from "../../lab/labProcesses.ts";
import { labStages, type StageExpression } from "../../lab/stages.ts";

describe("checkedLabName", () => {
  for (const name of ["llm-lab", "a", "0", "a".repeat(63)]) {
    it(`accepts ${name}`, () => {
      expect(checkedLabName(name)).to.equal(name);
    });
  }
  for (const name of ["", "-a", "a-", "A", "a.b", "..", "a/b", "a b", "a\n", "a".repeat(64)]) {
    it(`refuses ${JSON.stringify(name)}`, () => {
      expect(() => checkedLabName(name)).to.throw(/not a name for a lab/);
    });
  }
});

describe("the env file of a lab", () => {
  const paths = labPaths("/some where/it's/.lab/llm-lab");
  const text = envFileText(["/repo it's/bin", "/tools"], labVariables(paths, "/pulumi home"));
  const after = (sourced: string, print: string, path = "/usr/bin:/bin"): string =>
    execFileSync("/bin/sh", ["-euc", `${sourced}\nprintf '%s' "${print}"`], {
      env: { PATH: path },
    }).toString();

  it("sets what pulumi and kubectl need, blanks and quotes in paths included", () => {
    expect(
      after(text, "$KUBECONFIG|$PULUMI_BACKEND_URL|$PULUMI_HOME|$PULUMI_CONFIG_PASSPHRASE"),
    ).to.equal(
      "/some where/it's/.lab/llm-lab/kubeconfig|file:///some%20where/it's/.lab/llm-lab/state|/pulumi home|lab",
    );
  });

  it("puts the clone's and the toolchain's folders in front of PATH, once however often it is sourced", () => {
    expect(after(text, "$PATH")).to.equal("/repo it's/bin:/tools:/usr/bin:/bin");
    expect(after(`${text}${text}`, "$PATH")).to.equal("/repo it's/bin:/tools:/usr/bin:/bin");
  });

  it("exports: a child process sees them", () => {
    expect(after(text, `$(/bin/sh -c 'printf %s "$PULUMI_HOME"')`)).to.equal("/pulumi home");
  });
});

describe("node lab/lab.ts", () => {
  it("says whose start --cold-start-seconds is, where it is told nothing", () => {
    const { status, stderr } = spawnSync(process.execPath, ["lab/lab.ts"], { encoding: "utf8" });
    expect(status).to.equal(2);
    expect(stderr).to.match(
      /--cold-start-seconds .*of a pod of clef-serve .*every other pod's is 1 s/,
    );
  });
});

describe("labOfBackend", () => {
  const of = (folder: string, root = "/some where/.lab"): string | undefined =>
    labOfBackend(labVariables(labPaths(folder), "/home").PULUMI_BACKEND_URL, root);

  it("knows a lab by the backend that its env file sets", () => {
    expect(of("/some where/.lab/break-a")).to.equal("break-a");
  });
  it("knows no lab by another clone's lab, another backend or none", () => {
    expect(of("/other/.lab/break-a")).to.equal(undefined);
    expect(labOfBackend("file:///some%20where/.lab/break-a", "/some where/.lab")).to.equal(
      undefined,
    );
    expect(labOfBackend("s3://bucket/break-a/state", "/some where/.lab")).to.equal(undefined);
    expect(labOfBackend(undefined, "/some where/.lab")).to.equal(undefined);
  });
});

describe("prependedPath", () => {
  it("adds the prefix once", () => {
    expect(prependedPath(["/a", "/b"], "/c")).to.equal("/a:/b:/c");
    expect(prependedPath(["/a", "/b"], "/a:/b:/c")).to.equal("/a:/b:/c");
    expect(prependedPath(["/a", "/b"], "/a:/bc")).to.equal("/a:/b:/a:/bc");
  });
  it("leaves no empty entry, which would mean the current folder", () => {
    expect(prependedPath(["/a"], undefined)).to.equal("/a");
    expect(prependedPath(["/a"], "")).to.equal("/a");
  });
});

describe("kubeconfigText", () => {
  it("has one context, llm-lab, on 127.0.0.1 with the certificates inside", () => {
    const text = kubeconfigText({
      port: 6443,
      ca: Buffer.from("ca"),
      certificate: Buffer.from("crt"),
      key: Buffer.from("key"),
    });
    expect(JSON.parse(text)).to.deep.equal({
      apiVersion: "v1",
      kind: "Config",
      "current-context": "llm-lab",
      clusters: [
        {
          name: "llm-lab",
          cluster: { server: "https://127.0.0.1:6443", "certificate-authority-data": "Y2E=" },
        },
      ],
      users: [
        { name: "llm-lab", user: { "client-certificate-data": "Y3J0", "client-key-data": "a2V5" } },
      ],
      contexts: [{ name: "llm-lab", context: { cluster: "llm-lab", user: "llm-lab" } }],
    });
  });
});

describe("parsedRecord", () => {
  it("reads what was written", () => {
    const record = { fingerprint: fingerprintOf({ a: 1 }), clusterUid: "u", apiServerPort: 1 };
    expect(parsedRecord(JSON.stringify(record))).to.deep.equal(record);
  });
  for (const text of [
    "",
    "{",
    "null",
    "[]",
    '{"fingerprint":"x"}',
    '{"fingerprint":"x","clusterUid":"u","apiServerPort":"1"}',
  ]) {
    it(`takes ${JSON.stringify(text)} for a start that did not finish`, () => {
      expect(parsedRecord(text)).to.equal(undefined);
    });
  }
});

describe("labProcessName", () => {
  const folder = "/clone/.lab/one";
  const cases: readonly [string, string | undefined][] = [
    [
      "/clone/.lab/one/.kwok/clusters/lab/bin/etcd\0--name=node0\0--data-dir=/clone/.lab/one/kwok/etcd\0",
      "etcd",
    ],
    ["/t/kube-apiserver --tls-cert-file=/clone/.lab/one/kwok/pki/admin.crt", "kube-apiserver"],
    [
      "/t/kwok-controller\0--manage-all-nodes=false\0--config=/clone/.lab/one/kwok/kwok.yaml\0",
      "kwok-controller",
    ],
    ["/t/kwokctl\0--config=/clone/.lab/one/kwokctl.yaml\0--name=lab\0create\0cluster\0", "kwokctl"],
    // Another lab, also one whose name only starts like ours.
    ["/t/etcd\0--data-dir=/clone/.lab/one-more/kwok/etcd\0", undefined],
    ["/t/etcd\0--data-dir=/other/clone/.lab/one/kwok/etcd\0", undefined],
    // Somebody who looks at the lab.
    ["tail\0-f\0/clone/.lab/one/.kwok/clusters/lab/logs/etcd\0", undefined],
    ["vi\0/clone/.lab/one/.kwok/clusters/lab/bin/etcd\0", undefined],
    ["kubectl\0--kubeconfig=/clone/.lab/one/kubeconfig\0get\0pods\0", undefined],
    ["etcd\0/clone/.lab/one/kwok\0", undefined],
    ["", undefined],
  ];
  for (const [commandLine, name] of cases) {
    it(`knows ${commandLine.replaceAll("\0", " ").trim() || "a zombie"} as ${name ?? "somebody else's"}`, () => {
      expect(labProcessName(commandLine, folder)).to.equal(name);
    });
  }
});

const isDeletion = ({ key, operator }: StageExpression) =>
  key === ".metadata.deletionTimestamp" && operator === "Exists";

describe("labStages", () => {
  const stages = labStages({
    coldStartSeconds: { "*": 1, "clef-serve": 4 },
    terminationSeconds: { "*": 2.5 },
  });
  const delays = Object.fromEntries(
    stages.map(({ metadata, spec }) => [metadata.name, spec.delay?.durationMilliseconds]),
  );

  it("replaces all of kwok's defaults", () => {
    expect(delays).to.deep.equal({
      "node-initialize": undefined,
      "node-heartbeat": 600_000,
      "pod-create": undefined,
      "pod-ready": 1000,
      "pod-ready-clef-serve": 4000,
      "pod-of-job-succeed": 1000,
      "pod-fail": undefined,
      "pod-delete": 2500,
    });
  });

  it("has no expression without values, at which kwok would drop a pod for ever", () => {
    const expressions = stages.flatMap(({ spec }) => spec.selector.matchExpressions);
    expect(expressions.filter(({ values }) => values?.length === 0)).to.deep.equal([]);
  });

  it("gives every pod exactly one start-up time, by its label app", () => {
    const appRules = stages
      .filter(({ metadata }) => metadata.name.startsWith("pod-ready"))
      .map(({ spec }) =>
        spec.selector.matchExpressions.find(({ key }) => key === ".metadata.labels.app"),
      );
    expect(appRules).to.deep.equal([
      { key: ".metadata.labels.app", operator: "NotIn", values: ["clef-serve"] },
      { key: ".metadata.labels.app", operator: "In", values: ["clef-serve"] },
    ]);
  });

  it("gives every workload a termination time of its own, at its time scale", () => {
    const scaled = labStages({
      coldStartSeconds: { "*": 60, "clef-serve": 240 },
      terminationSeconds: { "*": 60, reasoning: 90 },
      timeScale: 60,
    });
    const delay = (name: string) =>
      scaled.find(({ metadata }) => metadata.name === name)?.spec.delay?.durationMilliseconds;
    expect(
      ["pod-ready", "pod-ready-clef-serve", "pod-delete", "pod-delete-reasoning"].map(delay),
    ).to.deep.equal([1000, 4000, 1000, 1500]);
  });

  it("lets only the named workloads stop serving at once, each pod by one stage at a time", () => {
    const times = { coldStartSeconds: { "*": 1 }, terminationSeconds: { "*": 1 } };
    const namesOf = (stopServingAtOnce: string[]) =>
      labStages({ ...times, stopServingAtOnce })
        .filter(({ spec }) => spec.selector.matchExpressions.some(isDeletion))
        .map(({ metadata }) => metadata.name);
    expect(namesOf([])).to.deep.equal(["pod-delete"]);
    expect(namesOf(["reasoning"])).to.deep.equal(["pod-stop-serving", "pod-delete"]);
  });

  it("gives a pod its address only when it is ready", () => {
    const withAddress = stages.filter(({ spec }) => spec.next.statusTemplate?.includes("podIP:"));
    expect(withAddress.map(({ metadata }) => metadata.name)).to.deep.equal([
      "pod-ready",
      "pod-ready-clef-serve",
    ]);
  });
});
