import { expect } from "chai";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openImage } from "../../publish/imageLayout.ts";
import { PublishError } from "../../publish/publishError.ts";
import { type OciImage, writeOciImage } from "../support/ociImage.ts";

/** A manifest or an image's configuration, as much of it as the tests change. */
type Json = Record<string, unknown>;

const AGAIN =
  ": the image is damaged on this machine, and nothing was sent; build or save it again";

describe("image on this machine", () => {
  let folder: string;
  let image: OciImage;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "llm-serving-layout-"));
    image = writeOciImage(join(folder, "image"), [0.1, 0.2, 0.1]);
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  const blob = (digest: string) =>
    join(image.folder, "blobs", "sha256", digest.replace("sha256:", ""));
  const write = (content: string) => {
    const digest = `sha256:${createHash("sha256").update(content).digest("hex")}`;
    writeFileSync(blob(digest), content);
    return { digest, size: Buffer.byteLength(content) };
  };
  /** Writes the image's only entry again, with the right digest and size of another manifest. */
  const withManifest = (text: string, platform?: Json) => {
    const mediaType = "application/vnd.oci.image.manifest.v1+json";
    const entry = { mediaType, ...write(text), platform };
    writeFileSync(join(image.folder, "index.json"), JSON.stringify({ manifests: [entry] }));
  };
  const manifest = () =>
    JSON.parse(readFileSync(blob(image.digest), "utf8")) as {
      readonly config: { readonly digest: string };
      readonly layers: readonly { readonly size: number }[];
    };
  const withConfig = (changes: Json, platform?: Json) => {
    const { config } = manifest();
    const old = JSON.parse(readFileSync(blob(config.digest), "utf8")) as Json;
    const next = { ...config, ...write(JSON.stringify({ ...old, ...changes })) };
    withManifest(JSON.stringify({ ...manifest(), config: next }), platform);
  };

  const opened = () =>
    openImage(
      image.folder,
      folder,
      { run: () => Promise.reject(new Error("no regctl")) },
      () => undefined,
    );
  /** What it says behind the image's path: one line, of the project's own. */
  async function refusal(): Promise<string> {
    const error = await opened().catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(PublishError);
    const { message } = error as PublishError;
    expect(message).to.match(/^[^\n]+$/);
    expect(message.startsWith(`${image.folder}: `), message).to.equal(true);
    return message.slice(image.folder.length + 2);
  }

  it("is opened where nothing is wrong with it, also where index.json names its platform", async () => {
    const { digest, layers } = image;
    expect(await opened()).to.deep.equal({ folder: image.folder, digest, layers });
    withConfig({}, { os: "linux", architecture: "amd64" });
    expect((await opened()).layers).to.deep.equal(layers);
  });

  it("with a layer that has another byte is refused by both digests", async () => {
    const digest = image.layers[1]?.digest ?? "";
    const content = readFileSync(blob(digest));
    content[1000] = (content[1000] ?? 0) ^ 1;
    writeFileSync(blob(digest), content);
    const found = createHash("sha256").update(content).digest("hex");
    expect(await refusal()).to.equal(
      `layer 2 of 3, ${digest}, has the digest sha256:${found}${AGAIN}`,
    );
  });

  it("with a layer that is cut off or not there is refused by its sizes", async () => {
    const { digest = "", bytes = 0 } = image.layers[2] ?? {};
    truncateSync(blob(digest), 1000);
    expect(await refusal()).to.equal(
      `layer 3 of 3, ${digest}, has 1000 bytes instead of ${bytes}${AGAIN}`,
    );
    rmSync(blob(digest));
    expect(await refusal()).to.equal(`layer 3 of 3, ${digest}, is missing${AGAIN}`);
  });

  it("whose manifest states another size of a layer is refused by both", async () => {
    const { digest = "", bytes = 0 } = image.layers[0] ?? {};
    const [first, ...others] = manifest().layers;
    withManifest(JSON.stringify({ ...manifest(), layers: [{ ...first, size: 7 }, ...others] }));
    expect(await refusal()).to.equal(
      `layer 1 of 3, ${digest}, has ${bytes} bytes instead of 7${AGAIN}`,
    );
  });

  it("whose manifest or configuration is missing or was changed is refused in one line", async () => {
    const { config } = manifest();
    rmSync(blob(config.digest));
    expect(await refusal()).to.equal(`its configuration, ${config.digest}, is missing${AGAIN}`);
    writeFileSync(blob(image.digest), readFileSync(blob(image.digest), "utf8").replace("2", "3"));
    expect(await refusal()).to.match(/^its manifest, sha256:\w+, has the digest sha256:\w+: /);
    rmSync(blob(image.digest));
    expect(await refusal()).to.equal(`its manifest, ${image.digest}, is missing${AGAIN}`);
  });

  const NONE =
    "no image (a folder with an OCI layout, an OCI archive, or what docker save wrote): ";

  it("whose manifest is no JSON, or none of an image, is refused in one line", async () => {
    withManifest("<html>");
    expect(await refusal()).to.equal(`${NONE}its manifest is no JSON`);
    withManifest(JSON.stringify({ ...manifest(), layers: undefined }));
    expect(await refusal()).to.match(/its manifest has another form at layers: [^\n]+$/);
    withManifest("[]");
    expect(await refusal()).to.match(/its manifest has another form: [^\n]+$/);
    writeFileSync(join(image.folder, "index.json"), "{");
    expect(await refusal()).to.equal(`${NONE}index.json is no JSON`);
  });

  it("for another platform is refused, whether index.json or only its configuration says so", async () => {
    for (const platform of [
      { os: "linux", architecture: "arm64" },
      { os: "windows", architecture: "amd64" },
    ]) {
      withConfig(platform);
      expect(await refusal()).to.equal(
        `${NONE}it is for ${platform.os}/${platform.architecture}, and the nodes are linux/amd64: build it with ` +
          "--platform linux/amd64",
      );
      withConfig(platform, platform);
      expect(await refusal()).to.equal(`${NONE}no image for linux/amd64`);
    }
  });

  it("without layers, or that is a chart, is refused", async () => {
    withManifest(JSON.stringify({ ...manifest(), layers: [] }));
    expect(await refusal()).to.equal(`${NONE}it has no layers`);
    const mediaType = "application/vnd.cncf.helm.config.v1+json";
    withManifest(JSON.stringify({ ...manifest(), config: { ...manifest().config, mediaType } }));
    expect(await refusal()).to.equal(
      `${NONE}its configuration is ${mediaType}, which is no image's`,
    );
  });
});
