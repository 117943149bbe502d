import { expect } from "chai";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkedStack, StackFileError } from "../../config/stackFile.ts";
import { ownValues, stackValues } from "../../config/stackText.ts";
import { stackEdits } from "../../review/stackEdits.ts";

describe("name of a stack", () => {
  it("is taken when the stack has a file", () => {
    expect(["dev", "prod"].map((stack) => checkedStack(stack))).to.deep.equal(["dev", "prod"]);
  });

  it("is refused without a file, naming those that have one", () => {
    for (const stack of ["nope", "../prod", "dev; echo hi", "prod/"]) {
      expect(() => checkedStack(stack)).to.throw(
        StackFileError,
        `STACK = ${stack}: there is no Pulumi.${stack}.yaml (dev | prod); set STACK=dev`,
      );
    }
  });

  it("is refused when it is empty, in words of its own", () => {
    expect(() => checkedStack("")).to.throw(
      StackFileError,
      "STACK = : no stack is named (dev | prod); set STACK=dev",
    );
  });

  it("is looked for in the folder that is given", () => {
    const folder = mkdtempSync(join(tmpdir(), "llm-serving-stacks-"));
    try {
      writeFileSync(join(folder, "Pulumi.site-b.yaml"), "");
      expect(checkedStack("site-b", folder)).to.equal("site-b");
      expect(() => checkedStack("dev", folder)).to.throw("(site-b); set STACK=site-b");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("text of a stack file", () => {
  const refusal = (text: string): string => {
    try {
      stackValues(text, "Pulumi.dev.yaml");
    } catch (error) {
      if (error instanceof StackFileError) return error.message;
      throw error;
    }
    return "";
  };

  it("gives the values of every key, and this program's by their own part of it", () => {
    const text = "config:\n  llm-serving:clefServe: {replicas: 1}\n  aws:region: x\n";
    expect(stackValues(text, "x")).to.deep.equal({
      "llm-serving:clefServe": { replicas: 1 },
      "aws:region": "x",
    });
    expect(ownValues(text, "x")).to.deep.equal({ clefServe: { replicas: 1 } });
    for (const empty of ["", "# nothing\n", "config:\n"]) {
      expect(stackValues(empty, "x")).to.deep.equal({});
    }
  });

  it("that is no YAML is refused in one line with the file, the line and the column", () => {
    expect(refusal("config:\n  a: [1\n b: {")).to.match(
      /^Pulumi\.dev\.yaml, line 3, column 2: no YAML \(Flow sequence [^\n]*\); correct it there$/,
    );
    expect(refusal("config: *x\n")).to.match(
      /^Pulumi\.dev\.yaml: no YAML \(Unresolved alias [^\n]*\); correct it there$/,
    );
    expect(refusal("a: 1\n--- b")).to.match(/^Pulumi\.dev\.yaml, line 2, column 1: no YAML \(\w/);
  });

  it("is quoted nowhere in that line: a secret may stand there", () => {
    expect(refusal("config:\n  token: [canary123\n"))
      .to.include("no YAML")
      .and.not.include("canary");
  });

  it("that has no map of keys is refused", () => {
    const end = "is no map of keys (config: {<key>: <value>}); correct it there";
    expect(refusal("[]")).to.equal(`Pulumi.dev.yaml: ${end}`);
    expect(refusal("config: [1]")).to.equal(`Pulumi.dev.yaml: config: ${end}`);
  });

  it("is named in a comparison as the one here or that of the base", () => {
    expect(() => stackEdits("", "a: [", "Pulumi.dev.yaml")).to.throw(/^Pulumi\.dev\.yaml, line 1,/);
    expect(() => stackEdits("a: [", "", "Pulumi.dev.yaml")).to.throw(
      /^Pulumi\.dev\.yaml of BASE, line 1,/,
    );
  });
});
