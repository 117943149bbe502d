import { expect } from "chai";
import type { Path } from "../../config/fields.ts";
import { isBoolean, isNumeric, leaves } from "../../config/fields.ts";
import { parseStackConfig } from "../../config/parse.ts";
import { keyOf, shown } from "../../config/problems.ts";
import { HIDDEN } from "../../config/secrets.ts";
import { DIGEST, fullStack, refusals, smallStack, withValue } from "./configFixtures.ts";

const IMAGE: Path = ["candleVllm", "image"];
const IMAGE_RULE = "(repo@sha256:<64 hex>, or repo:tag where registry.requireDigests is false)";
const IMAGE_REMEDY =
  "run: pulumi config set --path 'llm-serving:candleVllm.image' " +
  "'registry.example/llm/candle-vllm@sha256:<64 hex>' --stack dev";

const text = leaves().filter(
  ([path, field]) => !isNumeric(field) && !isBoolean(field) && path.at(-1) !== "env",
);

const withTags = withValue(smallStack(), ["registry"], { requireDigests: false });

describe("configuration: text", () => {
  it("refuses numbers, booleans, blanks, maps and lists in every text key", () => {
    expect(text).to.have.lengthOf(2 + 1 + 5 + 3 * (3 + 3 + 5) + 1 + 3 + 1);
    for (const [path] of text) {
      for (const value of [12321123131, 1.5, true, null, "", " ", {}, []]) {
        const lines = refusals(withValue(fullStack(), path, value));
        const own = lines.filter((line) => line.startsWith(`${keyOf(path)} = `));
        expect(own, `${keyOf(path)} = ${JSON.stringify(value)}`).to.have.lengthOf(1);
      }
    }
  });

  it("B05 refuses a tag that YAML read as a number (image, there is no imageTag)", () => {
    expect(refusals(withValue(smallStack(), IMAGE, 20220113.2))).to.deep.equal([
      "llm-serving:candleVllm.image = 20220113.2: a number, not text: YAML reads unquoted digits " +
        `as one ${IMAGE_RULE}; ${IMAGE_REMEDY}`,
    ]);
    expect(refusals(withValue(smallStack(), IMAGE, 1.2321123131e21))[0]).to.include(
      "image = 1.2321123131e+21: a number, not text",
    );
  });

  it("B05 keeps a quoted one as it is", () => {
    const image = "registry.example/llm/candle-vllm:20220113.20";
    const config = parseStackConfig(withValue(withTags, IMAGE, image), "dev");
    expect(config.candleVllm.image).to.equal(image);
  });

  it("B06 keeps the leading zero of a tag, and refuses what YAML made of an unquoted one", () => {
    for (const tag of ["0123456", "012"]) {
      const image = `candle-vllm:${tag}`;
      const config = parseStackConfig(withValue(withTags, IMAGE, image), "dev");
      expect(config.candleVllm.image).to.equal(image);
    }
    // The CLI reads an unquoted 0123456 as octal and hands over 42798.
    expect(refusals(withValue(withTags, IMAGE, 42798))).to.deep.equal([
      "llm-serving:candleVllm.image = 42798: a number, not text: YAML reads unquoted digits as " +
        `one ${IMAGE_RULE}; ${IMAGE_REMEDY}`,
    ]);
  });

  it("B06 keeps the leading zero of a variable's value, and refuses an unquoted one", () => {
    const path: Path = ["clefServe", "env", "BUILD"];
    const config = parseStackConfig(withValue(smallStack(), path, "012"), "dev");
    expect(config.clefServe.env).to.deep.equal({ BUILD: "012" });
    expect(refusals(withValue(smallStack(), path, 12))).to.deep.equal([
      "llm-serving:clefServe.env.BUILD = 12: a number, not text: YAML reads unquoted digits as " +
        "one (text in quotes); run: pulumi config set --path 'llm-serving:clefServe.env.BUILD' " +
        "12 --type string --stack dev",
    ]);
  });

  it("refuses a word that is none of a key's", () => {
    expect(refusals(withValue(smallStack(), ["clefServe", "rollout"], "Recreate"))).to.deep.equal([
      'llm-serving:clefServe.rollout = "Recreate": not of the allowed form (recreate | surge); ' +
        "run: pulumi config set --path 'llm-serving:clefServe.rollout' recreate --stack dev",
    ]);
  });
});

describe("configuration: images", () => {
  const reasonFor = (image: string, stack = smallStack()) =>
    refusals(withValue(stack, IMAGE, image)).map((line) => /: ([^:]*) \(repo/.exec(line)?.[1]);

  it("takes a digest everywhere", () => {
    for (const repo of ["a", "registry.example:5000/llm/candle-vllm", "localhost:5000/x_y/z--1"]) {
      expect(reasonFor(`${repo}${DIGEST}`)).to.deep.equal([]);
    }
  });

  it("E07: takes a tag only where registry.requireDigests is false", () => {
    expect(reasonFor("registry.example:5000/llm/candle-vllm:0.8.9", withTags)).to.deep.equal([]);
    expect(refusals(withValue(smallStack(), IMAGE, "llm/candle-vllm:0.8.9"))).to.deep.equal([
      'llm-serving:candleVllm.image = "llm/candle-vllm:0.8.9": a tag can change under a running ' +
        `pod (repo@sha256:<64 hex> while registry.requireDigests is true); ${IMAGE_REMEDY}`,
    ]);
  });

  it("E07: refuses latest, no tag, and a tag beside a digest, with tags allowed or not", () => {
    for (const stack of [smallStack(), withTags]) {
      expect(reasonFor("llm/x:latest", stack)).to.deep.equal([
        "latest is whatever was pushed last",
      ]);
      for (const image of ["llm/x", "localhost:5000/x"]) {
        expect(reasonFor(image, stack)).to.deep.equal([
          "neither a digest nor a tag, which means latest",
        ]);
      }
      for (const image of [`llm/x:1${DIGEST}`, `x:1${DIGEST}`]) {
        expect(reasonFor(image, stack)).to.deep.equal(["a tag beside a digest says nothing"]);
      }
    }
  });

  it("refuses what is no image", () => {
    const broken = [`x@sha256:${"A".repeat(64)}`, "x@sha256:abc", "X:1", "x:-1", "a b:1", "/x:1"];
    for (const image of broken) {
      expect(reasonFor(image, withTags)).to.deep.equal(["not of the allowed form"]);
    }
  });
});

describe("shown", () => {
  it("shows a value raw, on one line and clipped", () => {
    expect(shown(["a"], "1\n2")).to.equal('"1\\n2"');
    expect(shown(["a"], 1e21)).to.equal("1e+21");
    expect(shown(["a"], "x".repeat(100))).to.equal(`"${"x".repeat(79)}...`);
    expect(shown(["a"], undefined)).to.equal("(not set)");
  });

  it("hides what a secret's name or a secret's form gives away", () => {
    expect(shown(["hfToken"], "canary")).to.equal(HIDDEN);
    expect(shown(["clefServe", "env", "API_KEY"], 123456)).to.equal(HIDDEN);
    expect(shown(["a"], "hf_abcdefgh12345678")).to.equal(HIDDEN);
    expect(shown(["contextTokens"], "12")).to.equal('"12"');
  });
});
