import { expect } from "chai";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startRegistry } from "../../lab/registry.ts";
import { openImage } from "../../publish/imageLayout.ts";
import { chunkBytes } from "../../publish/layers.ts";
import { ATTEMPTS, pushImage } from "../../publish/pushImage.ts";
import { regctlFor } from "../../publish/regctl.ts";
import { startCuttingProxy } from "../support/cuttingProxy.ts";
import { type OciImage, writeOciImage } from "../support/ociImage.ts";
import { publishWith } from "../support/publish.ts";
import { useRegistry } from "../support/registry.ts";

/** The proxy's limit; `make bench-registry` has the real sizes, 300 MB against 100. */
const LIMIT_MIB = 2;

/** How a digest looks. */
const DIGEST = /sha256:[0-9a-f]{64}/;

describe("image push", function () {
  this.timeout(300_000);
  const registry = useRegistry(LIMIT_MIB);
  let folder = "";
  let image: OciImage;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "llm-serving-push-"));
    image = writeOciImage(join(folder, "image"), [6, 1]);
  });
  after(() => {
    rmSync(folder, { recursive: true });
  });

  const push = (maxLayerMiB: number, args: readonly string[] = [], pulledFrom = "llm") =>
    publishWith(
      folder,
      {
        pull: `${registry().direct}/${pulledFrom}`,
        push: `${registry().proxied}/llm`,
        maxLayerMiB,
      },
      [`--archive=${image.folder}`, ...args],
    );
  const uploads = async () => {
    const requests = await registry().requests();
    return requests.filter(
      ({ path }) => path.includes("/blobs/uploads/") && !path.endsWith("/size"),
    );
  };

  it("E01: without chunks, names layer, size and limit before it sends anything", async () => {
    const { code, text } = await push(LIMIT_MIB, ["--no-chunks"]);
    expect(code).to.equal(1);
    expect(text.replace(DIGEST, "<digest>").trimEnd().split("\n").at(-1)).to.match(
      /^llm-serving:registry\.maxLayerMiB = 2: layer 1 of 2, sha256:[0-9a-f]{12}, is 6\.1 MiB compressed \(at most 2 MiB in one request\); push in chunks \(leave out CHUNKS=no\), /,
    );
    expect(await registry().requests()).to.deep.equal([]);
  });

  it("E02: a limit stated too high is the proxy's, by its name and with what it lets through", async () => {
    const { code, text } = await push(10);
    expect(code).to.equal(1);
    const host = registry().proxied;
    expect(text).to.match(
      new RegExp(
        `^llm-serving:registry\\.maxLayerMiB = 10: the proxy in front of ${host}/llm \\(Server: nginx/[\\d.]+\\) ` +
          "answers 413 with a page of HTML to a request of 6\\.1 MiB: that is the proxy's limit, not the registry's " +
          "\\(at most 2 MiB\\); set llm-serving:registry\\.maxLayerMiB to 2, ",
        "m",
      ),
    );
    expect(text).not.to.match(/JSON|invalid character|unexpected token/i);
    expect(await uploads()).to.deep.equal([]);
  });

  it("E03: arrives in chunks below the limit, with the same digest", async () => {
    const { code, text } = await push(LIMIT_MIB);
    expect(code, text).to.equal(0);
    expect(text).to.include(
      "is 6.1 MiB, above registry.maxLayerMiB = 2: goes in 4 chunks of 1.8 MiB\n",
    );
    expect(text).to.include(
      "pulumi config set --path 'llm-serving:clefServe.image' " +
        `${registry().direct}/llm/clef-serve@${image.digest} --stack test\n`,
    );
    expect(text).not.to.include("warning");
    const sent = await uploads();
    expect(Math.max(...sent.map(({ bytes }) => bytes))).to.equal(chunkBytes(LIMIT_MIB));
    expect(sent.filter(({ status }) => status >= 400)).to.deep.equal([]);
    const base = `http://${registry().direct}/v2/llm/clef-serve`;
    for (const digest of image.layers.map((layer) => layer.digest)) {
      const blob = await (await fetch(`${base}/blobs/${digest}`)).arrayBuffer();
      const hash = createHash("sha256").update(Buffer.from(blob)).digest("hex");
      expect(`sha256:${hash}`).to.equal(digest);
    }
    const headers = { accept: "application/vnd.oci.image.manifest.v1+json" };
    const manifest = await fetch(`${base}/manifests/${image.digest}`, { headers });
    expect(manifest.headers.get("docker-content-digest")).to.equal(image.digest);
  });

  it("sends nothing again that is there, and warns where the nodes' address shows nothing", async () => {
    const before = await uploads();
    const { code, text } = await push(LIMIT_MIB, [], "elsewhere");
    expect(code, text).to.equal(0);
    expect(await uploads()).to.deep.equal(before);
    expect(text).to.include(
      `warning: ${registry().direct}/elsewhere/clef-serve@${image.digest} cannot be seen from here; `,
    );
  });

  it("E03: a registry that takes no chunks gets layers below the limit whole", async () => {
    const strict = await startRegistry({
      folder: join(folder, "strict"),
      limitMiB: LIMIT_MIB,
      refusedMethod: "PATCH",
    });
    try {
      const small = writeOciImage(join(folder, "small"), [1, 1]);
      const { code, text } = await publishWith(
        folder,
        { pull: `${strict.proxied}/llm`, maxLayerMiB: LIMIT_MIB },
        [`--archive=${small.folder}`],
      );
      expect(code, text).to.equal(0);
      expect(text).to.include(`digest ${small.digest}\n`).and.not.to.include("warning");
      const methods = (await strict.requests()).map(({ method }) => method);
      expect(methods).to.include("PUT").and.not.to.include("PATCH");
    } finally {
      await strict.stop();
    }
  });

  it("takes what docker save wrote, and compresses layers that are not", async () => {
    const saved = writeOciImage(join(folder, "saved"), [1], false);
    const archive = join(folder, "saved.tar");
    expect(spawnSync("tar", ["-cf", archive, "-C", saved.folder, "."]).status).to.equal(0);
    const { code, text } = await publishWith(
      folder,
      { pull: `${registry().proxied}/llm`, maxLayerMiB: LIMIT_MIB },
      [`--archive=${archive}`],
    );
    expect(code, text).to.equal(0);
    expect(text).to.match(/^clef-serve: 1 layer, /m);
    const digest = /^digest (.*)$/m.exec(text)?.[1] ?? "";
    expect(digest).to.match(DIGEST).and.not.to.equal(saved.digest);
    const manifest = await fetch(
      `http://${registry().direct}/v2/llm/clef-serve/manifests/${digest}`,
      {
        headers: { accept: "application/vnd.oci.image.manifest.v1+json" },
      },
    );
    const { layers } = (await manifest.json()) as { layers: readonly { mediaType: string }[] };
    expect(layers.map(({ mediaType }) => mediaType)).to.deep.equal([
      "application/vnd.oci.image.layer.v1.tar+gzip",
    ]);
  });

  for (const [title, damage, message] of [
    [
      "another byte",
      (file: string) => {
        const content = readFileSync(file);
        content[1000] = (content[1000] ?? 0) ^ 1;
        writeFileSync(file, content);
      },
      /the file sha256:\w{64} in it has the digest sha256:\w{64}: the image is damaged/,
    ],
    ["no file", rmSync, /no image \(.*\): index\.json, or a file that it names, is not in it;/],
  ] as const) {
    it(`refuses an archive that has ${title} for a layer, before it sends anything`, async () => {
      const damaged = writeOciImage(join(folder, title), [0.1]);
      const [layer = ""] = damaged.layers.map(({ digest }) => digest.replace("sha256:", ""));
      damage(join(damaged.folder, "blobs", "sha256", layer));
      const archive = join(folder, `${title}.tar`);
      expect(spawnSync("tar", ["-cf", archive, "-C", damaged.folder, "."]).status).to.equal(0);
      const before = await registry().requests();
      const { code, text } = await publishWith(
        folder,
        { pull: `${registry().proxied}/llm`, maxLayerMiB: LIMIT_MIB },
        [`--archive=${archive}`],
      );
      expect(code).to.equal(1);
      expect(text)
        .to.match(message)
        .and.match(/; build or save it again\n$/);
      expect(await registry().requests()).to.deep.equal(before);
    });
  }

  const REFUSALS: readonly {
    readonly title: string;
    readonly status: number;
    readonly header?: string;
    readonly message: (host: string) => string;
  }[] = [
    {
      title: "401 for want of a password",
      status: 401,
      header: 'Basic realm="registry"',
      message: (host) => `${host}: refuses the push with 401; log in`,
    },
    {
      title: "401 without a word how to log in",
      status: 401,
      message: (host) => `${host}: refuses the push with 401; log in`,
    },
    {
      title: "404, as where no registry is",
      status: 404,
      message: (host) => `llm-serving:registry.pull = ${host}/llm: ${host} answers 404 to a push`,
    },
    {
      title: "413 to every request",
      status: 413,
      message: (host) => `llm-serving:registry.pull = ${host}/llm: ${host}, or a proxy before it, `,
    },
  ];
  for (const { title, status, header, message } of REFUSALS) {
    it(`does not repeat what is answered with ${title}`, async () => {
      const server = createHttpServer((request, response) => {
        request.resume();
        response.writeHead(status, header === undefined ? {} : { "www-authenticate": header });
        response.end("{}");
      }).listen(0, "127.0.0.1");
      await once(server, "listening");
      const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
      try {
        const { code, text } = await publishWith(
          folder,
          { pull: `${host}/llm`, maxLayerMiB: LIMIT_MIB },
          [`--archive=${image.folder}`],
        );
        expect(code).to.equal(1);
        expect(text)
          .to.include(`\n${message(host)}`)
          .and.not.to.include("attempt");
      } finally {
        server.closeAllConnections();
        server.close();
      }
    });
  }

  it("leaves neither files nor a push behind when it is interrupted, or when its terminal ends", async () => {
    for (const signal of ["SIGTERM", "SIGHUP"] as const) await interruptedBy(signal);
  });

  async function interruptedBy(signal: NodeJS.Signals): Promise<void> {
    // Takes connections and says nothing, so that the push goes on until somebody ends it. The first one asks for the
    // proxy's limit, the second one is regctl's.
    const silent = createServer((socket) => {
      socket.on("error", () => undefined).resume();
    }).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const pushing = once(silent, "connection").then(() => once(silent, "connection"));
    const { port } = silent.address() as AddressInfo;
    const temporary = mkdtempSync(join(folder, "tmp-"));
    const { code } = await publishWith(
      folder,
      { pull: `127.0.0.1:${port}/llm`, maxLayerMiB: LIMIT_MIB },
      [`--archive=${image.folder}`],
      { TMPDIR: temporary },
      pushing,
      signal,
    );
    expect(code).to.equal(130);
    expect(readdirSync(temporary)).to.deep.equal([]);
    // Only without a connection does it close: a regctl that lived on would hold its own.
    silent.close();
    await once(silent, "close");
  }

  for (const [title, cuts] of [
    ["E04: a connection cut once costs one chunk, not the push", 1],
    ["E04: a connection cut every time ends the push after a bounded number of attempts", Infinity],
  ] as const) {
    it(title, async () => {
      const proxy = await startCuttingProxy(registry().direct, 500_000, cuts);
      const lines: string[] = [];
      try {
        const own = mkdtempSync(join(folder, "cut-"));
        const settings = { wholeUpToBytes: 2 ** 20, chunkBytes: 2 ** 20 };
        const regctl = await regctlFor({ prefixes: [proxy.address], ...settings }, own);
        const outcome = await pushImage(
          {
            image: await openImage(
              writeOciImage(join(own, "image"), [3]).folder,
              own,
              regctl,
              () => undefined,
            ),
            repository: `${proxy.address}/llm/cut`,
            pushKey: "llm-serving:registry.push",
            maxLayerMiB: 1,
            largestRequestBytes: 2 ** 20,
            log: (line) => lines.push(line),
            pauseSeconds: 0,
          },
          regctl,
        ).catch((error: unknown) => error as Error);
        if (cuts === 1) {
          expect(outcome).to.match(/^sha-[0-9a-f]{12}$/);
          expect([proxy.cuts(), lines]).to.deep.equal([1, []]);
        } else {
          expect(outcome).to.be.an("error");
          expect(String(outcome)).to.include(
            `: the push failed ${ATTEMPTS} times, the last time with: `,
          );
          expect(lines).to.have.length(ATTEMPTS - 1);
          // regctl repeats a request 5 times at most.
          expect(proxy.cuts()).to.be.within(ATTEMPTS, ATTEMPTS * 2 * 6);
        }
      } finally {
        await proxy.stop();
      }
    });
  }
});
