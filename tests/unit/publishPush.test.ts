import { expect } from "chai";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { proxyRefusal, refusalText } from "../../publish/proxyRefusal.ts";
import { ATTEMPTS, pushImage } from "../../publish/pushImage.ts";
import type { RegctlOutcome } from "../../publish/regctl.ts";
import { publishWith } from "../support/publish.ts";

const digest = `sha256:${"a".repeat(64)}`;
const layers = [{ digest: `sha256:${"b".repeat(64)}`, bytes: 300 * 2 ** 20 }];
const ok: RegctlOutcome = { code: 0, stdout: `${digest}\n`, stderr: "" };

/** What regctl 0.11.7 prints last when the registry answers with this status. */
const failed = (status: number, step = "chunk"): RegctlOutcome => ({
  code: 1,
  stdout: "",
  stderr: `failed to send blob (${step}), ref r.invalid/clef-serve:t: http status: unexpected http status code: X [http ${status}]\n`,
});

/** The same, of the request that asks for an upload. */
const failedPost = (cause: string): RegctlOutcome => ({
  code: 1,
  stdout: "",
  stderr: `failed to send blob post, ref r.invalid/clef-serve:t: request failed: ${cause}: {}\n`,
});

/** What it prints last when there was no answer that has a status. */
const without = (cause: string): RegctlOutcome => ({
  code: 1,
  stdout: "",
  stderr: `failed to access target registry: failed to request manifest head r.invalid/clef-serve:t: ${cause}\n`,
});
const HEAD = 'Head "https://r.invalid/v2/clef-serve/manifests/t": dial tcp';
const REFUSED = without(`${HEAD} 10.0.0.7:443: connect: connection refused`);

/** Pushes with a regctl that gives these outcomes one after the other, the last one for ever. */
async function push(...outcomes: readonly RegctlOutcome[]): Promise<{
  readonly result: string;
  readonly copies: number;
  readonly log: readonly string[];
}> {
  let copies = 0;
  const log: string[] = [];
  const result = await pushImage(
    {
      image: { folder: "/image", digest, layers },
      repository: "r.invalid/clef-serve",
      pushKey: "llm-serving:registry.push",
      maxLayerMiB: 100,
      largestRequestBytes: 64 * 2 ** 20,
      log: (line) => log.push(line),
      pauseSeconds: 0,
    },
    {
      run: ([, verb]) => {
        if (verb === "digest") return Promise.resolve(outcomes.at(-1) ?? ok);
        copies += 1;
        return Promise.resolve(outcomes[copies - 1] ?? outcomes.at(-1) ?? ok);
      },
    },
  ).catch((error: unknown) => String(error));
  return { result, copies, log };
}

describe("push of an image", () => {
  it("names the tag by the digest, at the first attempt", async () => {
    expect(await push(ok)).to.deep.equal({ result: "sha-aaaaaaaaaaaa", copies: 1, log: [] });
  });

  it("E04: tries again after what may pass, and says so", async () => {
    const { result, copies, log } = await push(failed(502), failed(500), ok);
    expect([result, copies]).to.deep.equal(["sha-aaaaaaaaaaaa", 3]);
    expect(log).to.have.length(2);
    expect(log[0]).to.match(
      /^attempt 1 of 3 failed: failed to send blob .*\[http 502\]; again in 0 s$/,
    );
  });

  it("E04: gives up after a fixed number of attempts, also when one does not end in its time", async () => {
    // 404 to a chunk: the registry has forgotten the upload, and the next attempt begins another.
    for (const outcome of [
      failed(502),
      failed(404),
      REFUSED,
      { code: undefined, stdout: "", stderr: "" },
    ]) {
      const { result, copies } = await push(outcome);
      expect(copies).to.equal(ATTEMPTS);
      expect(result).to.match(
        /^PublishError: llm-serving:registry\.push = r\.invalid: the push failed 3 times, /,
      );
    }
  });

  it("says in a person's words that nothing listens, and which key to look at", async () => {
    const { result, log } = await push(REFUSED);
    const cause = "nothing listens at 10.0.0.7:443 (connection refused)";
    expect(log[0]).to.equal(`attempt 1 of 3 failed: ${cause}; again in 0 s`);
    expect(result).to.include(
      `the last time with: ${cause}; look whether llm-serving:registry.push is right, `,
    );
  });

  const finals: readonly (readonly [string, RegctlOutcome, RegExp])[] = [
    [
      "a login that may not push",
      failed(401),
      /refuses the push with 401; .*: docker login r\.invalid$/,
    ],
    [
      "a 401 that the registry explains by Basic",
      without("unauthorized"),
      /^PublishError: r\.invalid: refuses the push with 401; .*: docker login r\.invalid$/,
    ],
    [
      "a 401 that it does not explain",
      without("empty challenge header"),
      /^PublishError: r\.invalid: refuses the push with 401; .*: docker login r\.invalid$/,
    ],
    [
      "a 403, which regctl calls unauthorized too",
      failedPost("unauthorized [http 403]"),
      /^PublishError: r\.invalid: refuses the push with 403; /,
    ],
    [
      "a host that is not there",
      without(`${HEAD}: lookup r.invalid on 10.0.0.2:53: no such host`),
      /^PublishError: llm-serving:registry\.push = r\.invalid: no host has the name r\.invalid; set llm-serving:registry\.push to /,
    ],
    [
      "a repository that is not there",
      failedPost("not found [http 404]"),
      /^PublishError: llm-serving:registry\.push = r\.invalid: r\.invalid answers 404 to a push to r\.invalid\/clef-serve: /,
    ],
    [
      "E02: a 413 to a request without a body",
      failedPost("unexpected http status code: Request Entity Too Large [http 413]"),
      /^PublishError: llm-serving:registry\.push = r\.invalid: .* answers 413, too large, even to requests without a body: it refuses everything, /,
    ],
    [
      "E02: a 413 that nobody explains",
      failed(413),
      /maxLayerMiB = 100: a request of at most 64 MiB was answered with 413, too large .*; set it lower, such as 32, /,
    ],
    [
      "E03: chunks that the registry does not take, with the layers that need them",
      failed(405),
      /^PublishError: r\.invalid: takes no uploads in chunks \(PATCH answered 405\), and:\n {2}llm-serving:registry\.maxLayerMiB = 100: layer 1 of 1, sha256:b{12}, is 300 MiB/,
    ],
  ];
  for (const [title, outcome, message] of finals) {
    it(`does not repeat ${title}`, async () => {
      const { result, copies } = await push(outcome);
      expect(result).to.match(message);
      expect(copies).to.equal(1);
    });
  }

  it("E08: fails when the registry has another digest under the tag that was pushed", async () => {
    const other = `sha256:${"c".repeat(64)}`;
    const { result } = await push({ code: 0, stdout: `${other}\n`, stderr: "" });
    expect(result).to.include(`pushed as ${digest}, and the registry has ${other}; `);
  });

  it("E02: tells a proxy that lets nothing through from one with a limit", () => {
    const refusal = { bytes: 2 ** 20, server: "", contentType: "application/json", limitMiB: 0 };
    expect(refusalText(refusal, "r.invalid/llm", 1)).to.match(
      /\(which does not name itself\) answers 413 to a request of 1 MiB: .*\(not even 1 MiB\); raise the proxy's limit, or set/,
    );
    expect(refusalText({ ...refusal, limitMiB: 7 }, "r.invalid/llm", 10)).to.include(
      "(at most 7 MiB); set llm-serving:registry.maxLayerMiB to 7, or llm-serving:registry.push to",
    );
  });
});

describe("proxy in front of a registry", () => {
  it("is not asked under an address that is none, which the push then says", async () => {
    expect(await proxyRefusal("10.0.0.256/llm", 1)).to.equal(undefined);
  });
});

describe("image build", function () {
  this.timeout(60_000);
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "llm-serving-build-"));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  /** Stands for Docker: notes what it is asked, and has an engine only when told so. */
  const build = async (script: string) => {
    writeFileSync(join(folder, "docker"), `#!/bin/sh\necho "$@" >> ${folder}/asked\n${script}\n`);
    chmodSync(join(folder, "docker"), 0o755);
    const { code, text } = await publishWith(
      folder,
      { pull: "registry.invalid/llm" },
      ["--base=b"],
      {
        PATH: `${folder}:${process.env.PATH ?? ""}`,
      },
    );
    return { code, text, asked: readFileSync(join(folder, "asked"), "utf8").trim().split("\n") };
  };

  it("says plainly that no engine answers, what to start, and how to do without one", async () => {
    const { code, text, asked } = await build("exit 1");
    expect([code, asked.length]).to.deep.equal([1, 1]);
    expect(text).to.equal(
      "docker build: no Docker engine answers; start a Docker engine (or set DOCKER_HOST), or build elsewhere and " +
        "push that: make image ARCHIVE=<file>, an OCI archive, an OCI layout's folder or what docker save wrote\n",
    );
  });

  it("builds for the nodes' platform, and pushes nothing when the build fails", async () => {
    const { code, text, asked } = await build("[ $1 = version ]");
    expect(code).to.equal(1);
    expect(text).to.equal("docker build failed (exit code 1); see above\n");
    expect(asked[1]).to.match(
      /^build --platform linux\/amd64 --tag llm-serving\/clef-serve:build --build-arg BASE=b \/.*\/images\/clef-serve$/,
    );
    expect(asked).to.have.length(2);
  });
});
