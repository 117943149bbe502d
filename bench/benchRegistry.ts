// `make bench-registry`: an image with a layer of 300 MiB through an nginx that lets 100 MiB through, each way once.
import { createHash } from "node:crypto";
import { createReadStream, mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pins } from "../lab/toolchain/pins.ts";
import { type LabRegistry, startRegistry } from "../lab/registry.ts";
import { mib } from "../publish/layers.ts";
import { textTable } from "../review/textTable.ts";
import { type OciImage, writeOciImage } from "../tests/support/ociImage.ts";
import { publishWith } from "../tests/support/publish.ts";

const LIMIT_MIB = 100;
const LAYER_MIB = 300;
/** The highest that a stack may state. */
const NO_LIMIT_MIB = 10_240;

/** What one way to push came to. */
interface Row {
  readonly way: string;
  readonly outcome: string;
  readonly seconds: number;
  /** Uploads that the proxy saw, and the largest of them that it let through. */
  readonly uploads: number;
  readonly largestBytes: number;
  /** What the user reads, where it is refused. */
  readonly message?: string;
}

/** Runs one way and reads the proxy's log of it. */
async function measured(
  registry: LabRegistry,
  way: string,
  push: () => Promise<Pick<Row, "outcome" | "message">>,
): Promise<Row> {
  const before = (await registry.requests()).length;
  const begin = performance.now();
  const result = await push();
  const seconds = (performance.now() - begin) / 1000;
  const uploads = (await registry.requests())
    .slice(before)
    .filter(({ path, method }) => method.startsWith("P") && !path.endsWith("/blobs/uploads/size"));
  const passed = uploads.filter(({ status }) => status < 400).map(({ bytes }) => bytes);
  const largestBytes = Math.max(0, ...passed);
  return { way, seconds, uploads: uploads.length, largestBytes, ...result };
}

/** What most clients do: begin an upload, then send the layer as one request. */
async function putWhole(registry: LabRegistry, image: OciImage): Promise<string> {
  const [layer] = image.layers;
  if (layer === undefined) throw new Error("the image has no layer");
  const uploads = `http://${registry.proxied}/v2/llm/whole/blobs/uploads/`;
  const location = (await fetch(uploads, { method: "POST" })).headers.get("location") ?? "";
  const url = new URL(location);
  url.searchParams.set("digest", layer.digest);
  const file = join(image.folder, "blobs", "sha256", layer.digest.replace("sha256:", ""));
  return new Promise((resolve, reject) => {
    const upload = request(url, { method: "PUT", headers: { "content-length": layer.bytes } });
    upload
      .on("response", ({ statusCode = 0, headers }) => {
        const { server = "no name", "content-type": type = "no type" } = headers;
        resolve(`${statusCode} by ${String(server)}, ${type}`);
        upload.destroy();
      })
      .on("error", reject);
    const body = createReadStream(file);
    body.on("error", reject).pipe(upload);
    upload.on("close", () => body.destroy());
  });
}

/** Asks the registry itself, around the proxy, for what it has. */
async function arrived(registry: LabRegistry, { layers }: OciImage): Promise<boolean> {
  for (const { digest } of layers) {
    const url = `http://${registry.direct}/v2/llm/clef-serve/blobs/${digest}`;
    const hash = createHash("sha256");
    const { body } = await fetch(url);
    if (body === null) return false;
    for await (const part of body) hash.update(part as Uint8Array);
    if (`sha256:${hash.digest("hex")}` !== digest) return false;
  }
  return true;
}

function table(rows: readonly Row[]): string {
  return textTable([
    ["push", "outcome", "uploads", "largest let through", "time"],
    ...rows.map(({ way, outcome, uploads, largestBytes, seconds }) => [
      way,
      outcome,
      String(uploads),
      largestBytes === 0 ? "-" : mib(largestBytes),
      `${seconds.toFixed(1)} s`,
    ]),
  ]);
}

/** @returns 0 every way came to what it must */
async function main(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "llm-serving-bench-"));
  const registry = await startRegistry({ folder: join(folder, "registry"), limitMiB: LIMIT_MIB });
  try {
    const image = writeOciImage(join(folder, "image"), [LAYER_MIB]);
    const push = async (maxLayerMiB: number, ...args: readonly string[]) => {
      const { code, text } = await publishWith(
        folder,
        { pull: `${registry.direct}/llm`, push: `${registry.proxied}/llm`, maxLayerMiB },
        [`--archive=${image.folder}`, ...args],
      );
      const last = text.trimEnd().split("\n").at(-1) ?? "";
      return code === 0 ? { outcome: "arrived" } : { outcome: "refused", message: last };
    };
    const rows = [
      await measured(registry, "one PUT, without make image", async () => ({
        outcome: await putWhole(registry, image),
      })),
      await measured(registry, "whole, limit stated", () => push(LIMIT_MIB, "--no-chunks")),
      await measured(registry, "whole, limit stated too high", () => push(NO_LIMIT_MIB)),
      await measured(registry, "in chunks", () => push(LIMIT_MIB)),
    ];
    const same = await arrived(registry, image);
    const version = pins.registry.version;
    console.log(
      `A layer of ${LAYER_MIB} MiB to a registry (distribution ${version}) behind nginx with ` +
        `client_max_body_size ${LIMIT_MIB}m:\n\n${table(rows)}\n`,
    );
    for (const { way, message } of rows)
      if (message !== undefined) console.log(`${way}:\n  ${message}`);
    console.log(
      `\nThe layer in the registry has the digest that it has here: ${same ? "yes" : "no"}`,
    );
    const outcomes = rows.slice(1).map(({ outcome }) => outcome);
    return same && outcomes.join() === "refused,refused,arrived" ? 0 : 1;
  } finally {
    await registry.stop();
    rmSync(folder, { recursive: true });
  }
}

process.exitCode = await main();
