import { expect } from "chai";
import { coderServiceDrift, coderServiceWarnings } from "../../cluster/coderService.ts";
import { coderServiceSpec } from "../../components/coderPredictor.ts";
import { neverReplaced } from "../../components/guards.ts";

describe("coderServiceWarnings", () => {
  const stack = { backend: "candle-vllm", acceptUnready: false } as const;
  // What the API server adds to what the program states (read from Kubernetes 1.36.3).
  const live = {
    ...coderServiceSpec("candle-vllm"),
    clusterIP: "10.96.0.7",
    clusterIPs: ["10.96.0.7"],
    internalTrafficPolicy: "Cluster",
    ipFamilies: ["IPv4"],
    ipFamilyPolicy: "SingleStack",
    sessionAffinity: "None",
  };

  it("says nothing of a Service that is as the program says", () => {
    expect(coderServiceWarnings({ spec: live }, stack)).to.deep.equal([]);
  });

  it("names a port that hands changed, with both values; the selector is judged by who set it", () => {
    const ports = live.ports.map((port) => ({ ...port, targetPort: 8081, nodePort: 0 }));
    const spec = { ...live, selector: { app: "x" }, ports };
    expect(coderServiceWarnings({ spec }, stack)).to.have.length(1);
    expect(coderServiceWarnings({ spec }, stack)[0]).to.include(
      'spec.ports is [{"name":"http","protocol":"TCP","port":80,"targetPort":8081}',
    );
    expect(coderServiceDrift({ spec }, stack)).to.have.length(1);
    expect(coderServiceDrift({ spec }, stack)[0]).to.include(
      'spec.selector is {"app":"x"} in the cluster, by a hand, and {"app":"candle-vllm"} in the stack',
    );
    expect(coderServiceDrift({ spec: live }, stack)).to.deep.equal([]);
  });

  it("says that there is no Service, and where its way back is written", () => {
    const [warning, ...rest] = coderServiceWarnings("absent", stack);
    expect(warning).to.match(/coder-predictor does not exist: .*docs\/recover\.md on the old one$/);
    expect(rest).to.deep.equal([]);
  });
});

describe("inputs of coder-predictor", () => {
  const metadata = { name: "coder-predictor", namespace: "llm-serving" };
  const spec = coderServiceSpec("candle-vllm");

  function check(props: object): void {
    for (const transformation of neverReplaced(undefined).transformations ?? []) {
      transformation({ type: "", name: "", props, opts: {} } as never);
    }
  }

  it("A01 lets every edit pass that is an update in place", () => {
    check({ metadata: { ...metadata, labels: { a: "b" } }, spec: { ...spec, ports: [] } });
  });

  const replacing: readonly (readonly [string, object, string])[] = [
    ["metadata.name", { metadata: { ...metadata, name: "other" }, spec }, 'only "coder-predictor"'],
    ["metadata.name", { metadata: { namespace: "llm-serving" }, spec }, 'only "coder-predictor"'],
    [
      "metadata.namespace",
      { metadata: { ...metadata, namespace: "x" }, spec },
      'only "llm-serving"',
    ],
    [
      "metadata.namespace",
      { metadata: { ...metadata, namespace: {} }, spec },
      'only "llm-serving"',
    ],
    ["spec.clusterIP", { metadata, spec: { ...spec, clusterIP: "10.96.0.9" } }, "not stated"],
    ["spec.clusterIP", { metadata, spec: { ...spec, clusterIP: "None" } }, "not stated"],
    ["spec.clusterIPs", { metadata, spec: { ...spec, clusterIPs: ["10.96.0.9"] } }, "not stated"],
  ];
  for (const [field, props, allowed] of replacing) {
    it(`A01 refuses ${JSON.stringify(props).slice(0, 70)}, naming ${field}`, () => {
      expect(() => {
        check(props);
      }).to.throw(`Service coder-predictor: ${field} = `);
      expect(() => {
        check(props);
      }).to.throw(allowed);
    });
  }
});
