import { expect } from "chai";
import { spawnSync } from "node:child_process";
import { keysOf } from "../../config/fields.ts";
import { stackSchema } from "../../config/schema.ts";
import schema from "../../schema/stack.schema.json" with { type: "json" };

const root = new URL("../../", import.meta.url);
const { config } = schema.properties;
const sections: Readonly<Record<string, unknown>> = config.properties;

/** Every schema of a value below another one, with its path. */
function valuesOf(node: unknown, path = ""): [string, Record<string, unknown>][] {
  const { properties, items } = node as { properties?: object; items?: object };
  const below = Object.entries(properties ?? (items === undefined ? {} : { 0: items }));
  return below.flatMap(([key, value]: [string, Record<string, unknown>]) => {
    const at = `${path}.${key}`;
    return [[at, value], ...valuesOf(value, at)] as [string, Record<string, unknown>][];
  });
}

describe("schema/stack.schema.json", () => {
  it("is what schema/generate.ts makes of the configuration's schema", () => {
    const check = spawnSync(process.execPath, ["schema/generate.ts", "--check"], { cwd: root });
    expect(check.stderr.toString()).to.equal("");
    expect(check.status).to.equal(0);
  });

  it("knows every key, closes this program's namespace and leaves others open", () => {
    const names = keysOf(stackSchema).map((name) => `llm-serving:${name}`);
    expect(Object.keys(sections)).to.deep.equal(names);
    const [unknown] = Object.keys(config.patternProperties);
    const refused = new RegExp(unknown ?? "");
    expect(names.filter((name) => refused.test(name))).to.deep.equal([]);
    expect(refused.test("llm-serving:coderTp")).to.equal(true);
    expect(refused.test("llm-serving:candleVllmX")).to.equal(true);
    expect(refused.test("kubernetes:context")).to.equal(false);
    expect(config).not.to.have.property("additionalProperties");
  });

  it("describes every value and closes every map", () => {
    for (const [path, value] of valuesOf(config)) {
      expect(value, path).to.have.property("description");
      if ("properties" in value) expect(value, path).to.include({ additionalProperties: false });
    }
    expect(valuesOf(config).length).to.be.greaterThan(100);
  });

  it("bounds every number, without strings beside it", () => {
    const numbers = valuesOf(config).filter(([, value]) =>
      /integer|number/.test(String(value.type)),
    );
    expect(numbers).to.have.lengthOf(50);
    for (const [path, value] of numbers) {
      expect("enum" in value || "maximum" in value, path).to.equal(true);
    }
  });
});
