import { expect } from "chai";
import { differences } from "../../adopt/difference.ts";
import type { KubernetesObject } from "../../adopt/kubernetesObject.ts";

function object(spec: object, metadata: object = {}): KubernetesObject {
  return { apiVersion: "v1", kind: "Thing", metadata: { name: "thing", ...metadata }, spec };
}

const paths = (live: object, wanted: object): string[] =>
  differences(object(live), object(wanted)).map(({ path }) => path);

describe("differences of an adoption", () => {
  it("finds none between equal objects, whatever the server counts", () => {
    const live = {
      ...object(
        { a: 1 },
        { resourceVersion: "1", annotations: { "deployment.kubernetes.io/revision": "7" } },
      ),
      status: { ready: 1 },
    };
    expect(differences(live, object({ a: 1 }, { resourceVersion: "2" }))).to.deep.equal([]);
  });

  it("gives path and both sides, absent ones as undefined", () => {
    expect(differences(object({ a: 1, b: { c: 2 } }), object({ a: 3 }))).to.deep.equal([
      { path: "spec.a", live: 1, wanted: 3 },
      { path: "spec.b", live: { c: 2 }, wanted: undefined },
    ]);
  });

  it("puts keys of labels, and keys with dots or slashes, in brackets", () => {
    const live = object(
      { nodeSelector: { "kubernetes.io/os": "linux" } },
      { labels: { app: "a" } },
    );
    expect(differences(live, object({ nodeSelector: {} })).map(({ path }) => path)).to.deep.equal([
      "metadata.labels[app]",
      "spec.nodeSelector[kubernetes.io/os]",
    ]);
  });

  it("knows list items by their name, mount path or port, not by their place", () => {
    const env = (...names: string[]): object => ({
      env: names.map((name) => ({ name, value: name })),
    });
    expect(paths(env("A", "B"), env("B", "C"))).to.deep.equal(["spec.env[A]", "spec.env[C]"]);
    const mounts = (readOnly: boolean): object => ({
      volumeMounts: [
        { name: "home", mountPath: "/a", readOnly },
        { name: "home", mountPath: "/b" },
      ],
    });
    expect(paths(mounts(true), mounts(false))).to.deep.equal(["spec.volumeMounts[/a].readOnly"]);
    const ports = (name?: string): object => ({
      ports: [{ containerPort: 8080, ...(name === undefined ? {} : { name }) }],
    });
    expect(paths(ports(), ports("http"))).to.deep.equal(["spec.ports[8080].name"]);
  });

  it("does not call the same items in another order equal, since that restarts pods", () => {
    const env = (...names: string[]): object => ({ env: names.map((name) => ({ name })) });
    expect(differences(object(env("A", "B")), object(env("B", "A")))).to.deep.equal([
      { path: "spec.env", live: ["A", "B"], wanted: ["B", "A"] },
    ]);
  });

  it("compares lists without names as a whole", () => {
    expect(paths({ args: ["a", "b"] }, { args: ["a"] })).to.deep.equal(["spec.args"]);
    expect(paths({ env: [{ name: "A" }, { name: "A" }] }, { env: [{ name: "A" }] })).to.deep.equal([
      "spec.env",
    ]);
  });
});
