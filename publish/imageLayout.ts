import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { Blobs, damagedImage } from "./blobs.ts";
import type { Layer } from "./layers.ts";
import { PublishError } from "./publishError.ts";
import type { Regctl } from "./regctl.ts";

/** One image on this machine, every layer compressed. */
export interface ImageLayout {
  /** Folder with the OCI layout. */
  readonly folder: string;
  /** Digest of its manifest: the digest that the registry will have. */
  readonly digest: string;
  readonly layers: readonly Layer[];
}

const descriptor = z.object({
  mediaType: z.string(),
  digest: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  size: z.number(),
  platform: z.object({ os: z.string(), architecture: z.string() }).optional(),
});
const index = z.object({ manifests: z.array(descriptor) });
const manifest = z.object({ config: descriptor, layers: z.array(descriptor) });
const imageConfig = z.object({ os: z.string(), architecture: z.string() });

type Descriptor = z.output<typeof descriptor>;
type Manifest = z.output<typeof manifest>;

/** OCI's and Docker's; registries hold other things too, such as Helm's charts. */
const IMAGE_CONFIG = /^application\/vnd\.(oci\.image\.config|docker\.container\.image)\.v1\+json$/;

/** The nodes with V100 cards are of this kind (derived). */
const PLATFORM = { os: "linux", architecture: "amd64" };

/**
 * Opens an image: a folder with an OCI layout, an OCI archive, or what `docker save` wrote.
 * @param folder an empty folder of this run, for what has to be unpacked or compressed
 * @param log told what takes minutes for an image of some GiB
 * @throws {PublishError} when it is none of these, holds not exactly one image for linux/amd64, or is damaged
 */
export async function openImage(
  path: string,
  folder: string,
  regctl: Regctl,
  log: (line: string) => void,
): Promise<ImageLayout> {
  if (!isFolder(path)) log(`unpacking ${path}`);
  const layout = isFolder(path) ? path : await unpacked(path, folder, regctl);
  const { digest, layers } = await imageIn(path, layout);
  // An engine with the classic image store saves layers as they are; a registry gets them compressed.
  if (!layers.some(({ mediaType }) => /[./]tar$/.test(mediaType))) {
    return { folder: layout, digest, layers: layers.map(layerOf) };
  }
  log("compressing its layers");
  const target = join(folder, "compressed");
  const [from, to] = [`ocidir://${layout}@${digest}`, `ocidir://${target}:image`];
  await regctlOk(regctl, ["image", "mod", from, "--layer-compress", "gzip", "--create", to], path);
  const compressed = await imageIn(path, target);
  return {
    folder: target,
    digest: compressed.digest,
    layers: compressed.layers.map(layerOf),
  };
}

async function unpacked(path: string, folder: string, regctl: Regctl): Promise<string> {
  const layout = join(folder, "unpacked");
  await regctlOk(regctl, ["image", "import", `ocidir://${layout}:image`, path], path);
  return layout;
}

async function regctlOk(regctl: Regctl, args: readonly string[], path: string): Promise<void> {
  const { code, stderr } = await regctl.run(args, 3600);
  if (code === 0) return;
  const cause = stderr.trim().split("\n").at(-1) ?? "";
  const damage = damageIn(cause);
  if (damage !== undefined) throw damagedImage(path, damage);
  throw notAnImage(
    path,
    cause.endsWith("from tar: not found")
      ? "index.json, or a file that it names, is not in it; build or save it again"
      : cause,
  );
}

/** What regctl finds while it unpacks, in a person's words; undefined for anything but damage. */
function damageIn(cause: string): string | undefined {
  const [, wanted, found] =
    /unexpected digest, expected (sha256:\w+), computed (sha256:\w+)/.exec(cause) ?? [];
  if (wanted !== undefined && found !== undefined) {
    return `the file ${wanted} in it has the digest ${found}`;
  }
  return cause.endsWith("unexpected EOF") ? "it ends too early" : undefined;
}

function notAnImage(path: string, why: string): PublishError {
  return new PublishError(
    `${path}: no image (a folder with an OCI layout, an OCI archive, or what docker save wrote): ${why}`,
  );
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (error) {
    throw notAnImage(path, error instanceof Error ? error.message : String(error));
  }
}

/** The only image of a layout, every blob of it read and held against its digest. */
async function imageIn(path: string, layout: string): Promise<Manifest & { digest: string }> {
  const blobs = new Blobs(path, layout);
  const image = only(path, layout, blobs);
  const read = parsed(path, "its manifest", blobs.text(image, "its manifest"), manifest);
  const { config, layers } = read;
  if (!IMAGE_CONFIG.test(config.mediaType)) {
    throw notAnImage(path, `its configuration is ${config.mediaType}, which is no image's`);
  }
  if (layers.length === 0) throw notAnImage(path, "it has no layers");
  const name = "its configuration";
  // Of an image alone in a layout the index need not say what it is for: its own configuration does.
  const { os, architecture } = parsed(path, name, blobs.text(config, name), imageConfig);
  if (!isForNodes({ os, architecture })) {
    throw notAnImage(
      path,
      `it is for ${os}/${architecture}, and the nodes are linux/amd64: build it with --platform linux/amd64`,
    );
  }
  await blobs.check(layers);
  return { ...read, digest: image.digest };
}

/** The descriptor of a layout's only image; builders put attestations beside it, for the platform "unknown". */
function only(path: string, layout: string, blobs: Blobs): Descriptor {
  const images = parsed(path, "index.json", indexText(path, layout), index)
    .manifests.flatMap((entry) =>
      /index|manifest\.list/.test(entry.mediaType)
        ? parsed(path, "its index", blobs.text(entry, "its index"), index).manifests
        : [entry],
    )
    .filter(({ platform = PLATFORM }) => isForNodes(platform));
  const [image, second] = [...new Map(images.map((each) => [each.digest, each])).values()];
  if (image !== undefined && second === undefined) return image;
  throw notAnImage(path, `${image === undefined ? "no" : "more than one"} image for linux/amd64`);
}

function isForNodes({ os, architecture }: z.output<typeof imageConfig>): boolean {
  return os === PLATFORM.os && architecture === PLATFORM.architecture;
}

function indexText(path: string, layout: string): string {
  try {
    return readFileSync(join(layout, "index.json"), "utf8");
  } catch (error) {
    throw notAnImage(path, error instanceof Error ? error.message : String(error));
  }
}

/** JSON of one form. @param name what it is, for the message */
function parsed<T>(path: string, name: string, text: string, form: z.ZodType<T>): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw notAnImage(path, `${name} is no JSON`);
  }
  const { success, data, error } = form.safeParse(value);
  if (success) return data;
  const [issue] = error.issues;
  const key = issue === undefined || issue.path.length === 0 ? "" : ` at ${issue.path.join(".")}`;
  throw notAnImage(path, `${name} has another form${key}: ${issue?.message ?? ""}`);
}

function layerOf({ digest, size }: Descriptor): Layer {
  return { digest, bytes: size };
}
