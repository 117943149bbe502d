import { expect } from "chai";
import { isSecretName, isSecretValue } from "../../config/secrets.ts";
import { fullStack, refusals, smallStack, withValue } from "./configFixtures.ts";

const CANARY = "canary123";
// Assembled, so that no scanner takes this file for a leak.
const HF_VALUE = ["hf", "AbCdEfGhIjKlMnOpQrStUvWxYz012345"].join("_");

const SECRET_VALUES = [
  HF_VALUE,
  ["hf", CANARY].join("_"),
  ["sk", "proj", "abcdefghijklmnop1234"].join("-"),
  ["ghp", "abcdefghijklmnopqrstuvwxyz0123456789"].join("_"),
  ["glpat", "abcdefghijklmnopqrst"].join("-"),
  ["xoxb", "1234567890", "abcdefghij"].join("-"),
  ["AKIA", "ABCDEFGH12345678"].join(""),
  ["eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0In0", "c2ln"].join("."),
  "-----BEGIN RSA PRIVATE KEY-----",
  `https://user:${CANARY}@proxy.example`,
];

const PLAIN_VALUES = [
  "hf_transfer",
  "hf_home",
  "sk-learn",
  "registry.example:5000/llm/candle-vllm",
  "/models/hf_cache/model.gguf",
  "http://proxy.example:3128",
  "Qwen/Qwen3-30B-A3B",
  "clef_flash:load",
];

const SECRET_NAMES = [
  "HF_TOKEN",
  "HUGGING_FACE_HUB_TOKEN",
  "hfToken",
  "API_KEY",
  "OPENAI_API_KEY",
  "apiKey",
  "APIKEY",
  "DB_PASSWORD",
  "password",
  "AWS_SECRET_ACCESS_KEY",
  "CLIENT_SECRET",
  "SECRET",
  "PRIVATE_KEY",
  "GOOGLE_CREDENTIALS",
  "KEY_PASSPHRASE",
];

const PLAIN_NAMES = [
  "MAX_TOKENS",
  "MAX_TOKEN_LENGTH",
  "TOKEN_LIMIT",
  "EOS_TOKEN",
  "PAD_TOKEN_ID",
  "TOKENIZERS_PARALLELISM",
  "TOKENIZER",
  "KV_KIB_PER_TOKEN",
  "kvKiBPerToken",
  "contextTokens",
  "HF_TOKEN_PATH",
  "PASSWORD_FILE",
  "HF_HUB_DISABLE_IMPLICIT_TOKEN",
  "KEYBOARD",
  "CACHE_KEY",
  "RUST_LOG",
];

describe("secrets", () => {
  it("recognises credentials by their form, and nothing else", () => {
    expect(SECRET_VALUES.filter((value) => !isSecretValue(value))).to.deep.equal([]);
    expect(PLAIN_VALUES.filter(isSecretValue)).to.deep.equal([]);
  });

  it("recognises the names of secrets, and nothing else", () => {
    expect(SECRET_NAMES.filter((name) => !isSecretName(name))).to.deep.equal([]);
    expect(PLAIN_NAMES.filter(isSecretName)).to.deep.equal([]);
  });
});

describe("configuration: secrets", () => {
  it("A19 refuses llm-serving:hfToken in plain text without printing it", () => {
    const lines = refusals({ ...smallStack(), hfToken: CANARY });
    expect(lines).to.have.lengthOf(1);
    expect(lines[0]).to.match(/^llm-serving:hfToken = \(hidden\): unknown key, did you mean /);
    expect(lines[0]).not.to.include(CANARY);
  });

  it("A19 refuses a token where hfTokenSecret names a Secret, without printing it", () => {
    const path = ["candleVllm", "hfTokenSecret"];
    expect(refusals(withValue(smallStack(), path, HF_VALUE))).to.deep.equal([
      "llm-serving:candleVllm.hfTokenSecret = (hidden): looks like a secret, and this file is no " +
        "place for one (the name of an existing Secret, in hfTokenSecret or registry.pullSecret); " +
        "run: pulumi config rm --path 'llm-serving:candleVllm.hfTokenSecret' --stack dev and " +
        "revoke it if it was committed",
    ]);
    expect(refusals(withValue(smallStack(), path, CANARY))).to.deep.equal([
      "llm-serving:candleVllm.hfTokenSecret = (hidden): not a map (a map with name, key); write " +
        "hfTokenSecret: {name: hf-token, key: token} at llm-serving:candleVllm in Pulumi.dev.yaml",
    ]);
    expect(refusals(withValue(smallStack(), path, { name: "hf-token", key: "token" }))).to.be.empty;
  });

  it("refuses a credential at every place that takes text, without printing it", () => {
    const places = [
      ["candleVllm", "env", "PLAIN"],
      ["candleVllm", "image"],
      ["registry", "pullSecret"],
      ["registry", "pull"],
      ["access", "clients", 0],
      ["cluster", "context"],
      ["candleVllm", "unknown"],
      ["unknown", 0, "deep", "down"],
    ];
    for (const path of places) {
      for (const value of SECRET_VALUES) {
        const stack = withValue(fullStack(), path, value);
        const lines = refusals(stack).join("\n");
        expect(lines).to.include("looks like a secret");
        expect(lines).not.to.include(value);
      }
    }
  });

  it("refuses a key that is a credential itself, without printing it", () => {
    for (const path of [[HF_VALUE], ["candleVllm", HF_VALUE]]) {
      const lines = refusals(withValue(smallStack(), path, 1));
      expect(lines).to.have.lengthOf(1);
      expect(lines[0]).to.include("unknown key").and.not.to.include(HF_VALUE);
    }
  });

  it("refuses variables by the names of secrets, whatever their value", () => {
    for (const value of [CANARY, 123456, null, { a: CANARY }]) {
      expect(refusals(withValue(smallStack(), ["clefServe", "env", "HF_TOKEN"], value))).to.satisfy(
        ([line]: string[]) =>
          line?.startsWith("llm-serving:clefServe.env.HF_TOKEN = (") &&
          line.includes(": the name looks like a secret's, and the environment ends up in state") &&
          !/canary|123456/.test(line),
      );
    }
    const allowed = Object.fromEntries(
      PLAIN_NAMES.filter((name) => name.startsWith("M")).map((name) => [name, "1"]),
    );
    expect(refusals(withValue(smallStack(), ["clefServe", "env"], allowed))).to.be.empty;
  });

  it("C12 refuses every *_VISIBLE_DEVICES", () => {
    for (const name of ["NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "hip_visible_devices"]) {
      const key = `candleVllm.env.${name}`;
      expect(refusals(withValue(smallStack(), ["candleVllm", "env", name], "0"))).to.deep.equal([
        `llm-serving:${key} = "0": the device plugin decides which cards a pod sees, and this ` +
          `overrides it (no *_VISIBLE_DEVICES); run: pulumi config rm --path 'llm-serving:${key}' ` +
          "--stack dev",
      ]);
    }
  });

  it("refuses what is no variable name", () => {
    for (const name of ["1A", "a-b", "a b", "", "a.b", "__proto__", "ä"]) {
      const lines = refusals(withValue(smallStack(), ["candleVllm", "env", name], "x"));
      expect(lines, name).to.have.lengthOf(1);
      expect(lines[0]).to.include(": not a variable name (letters, digits and _, no digit first);");
    }
    expect(refusals(withValue(smallStack(), ["candleVllm", "env"], { _a1: "" }))).to.be.empty;
  });

  it("refuses keys that are encrypted or hold something encrypted", () => {
    const encrypted = ["candleVllm", "hfToken"];
    const stack = withValue({ ...smallStack(), hfToken: CANARY }, ["candleVllm", "replicas"], "x");
    const rule =
      "it is a secret or holds one, and no secret belongs here (plain values; hfTokenSecret and " +
      "registry.pullSecret name a Secret of the cluster); replace what stands under secure: in " +
      "Pulumi.dev.yaml by a plain value or remove it";
    expect(refusals(stack, { encrypted })).to.deep.equal([
      `llm-serving:candleVllm = (encrypted): ${rule}`,
      `llm-serving:hfToken = (encrypted): ${rule}`,
    ]);
  });

  it("A19 refuses a secret in plain text under another namespace, without printing it", () => {
    const foreignPlain = {
      "kubernetes:token": CANARY,
      "aws:region": HF_VALUE,
      "proxy:settings": JSON.stringify({ url: `https://user:${CANARY}@proxy.example` }),
    };
    const lines = refusals(smallStack(), { foreignPlain });
    expect(lines).to.deep.equal(
      Object.keys(foreignPlain).map(
        (key) =>
          `${key} = (hidden): looks like a secret in plain text (an encrypted value); run: pulumi config set ` +
          `--secret ${key} --stack dev, and revoke it if it was committed`,
      ),
    );
    const harmless = {
      "pulumi:disable-default-providers": '["kubernetes"]',
      "kubernetes:context": "x",
      "kubernetes:token": "",
    };
    expect(refusals(smallStack(), { foreignPlain: harmless })).to.be.empty;
  });
});
