import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
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
const manifest = z.object({ layers: z.array(descriptor) });

type Descriptor = z.output<typeof descriptor>;

/** The nodes with V100 cards are of this kind (derived). */
const PLATFORM = { os: "linux", architecture: "amd64" };

/**
 * Opens an image: a folder with an OCI layout, an OCI archive, or what `docker save` wrote.
 * @param folder an empty folder of this run, for what has to be unpacked or compressed
 * @param log told what takes minutes for an image of some GiB
 * @throws {PublishError} when it is none of these, or holds not exactly one image for linux/amd64
 */
export async function openImage(
  path: string,
  folder: string,
  regctl: Regctl,
  log: (line: string) => void,
): Promise<ImageLayout> {
  if (!isFolder(path)) log(`unpacking ${path}`);
  const layout = isFolder(path) ? path : await unpacked(path, folder, regctl);
  const image = only(path, layout);
  const { layers } = read(layout, image.digest, manifest);
  // An engine with the classic image store saves layers as they are; a registry gets them compressed.
  if (!layers.some(({ mediaType }) => /[./]tar$/.test(mediaType))) {
    return { folder: layout, digest: image.digest, layers: layers.map(layerOf) };
  }
  log("compressing its layers");
  const target = join(folder, "compressed");
  const [from, to] = [`ocidir://${layout}@${image.digest}`, `ocidir://${target}:image`];
  await regctlOk(regctl, ["image", "mod", from, "--layer-compress", "gzip", "--create", to], path);
  const { digest } = only(path, target);
  return { folder: target, digest, layers: read(target, digest, manifest).layers.map(layerOf) };
}

async function unpacked(path: string, folder: string, regctl: Regctl): Promise<string> {
  const layout = join(folder, "unpacked");
  await regctlOk(regctl, ["image", "import", `ocidir://${layout}:image`, path], path);
  return layout;
}

async function regctlOk(regctl: Regctl, args: readonly string[], path: string): Promise<void> {
  const { code, stderr } = await regctl.run(args, 3600);
  if (code === 0) return;
  throw notAnImage(path, stderr.trim().split("\n").at(-1) ?? "");
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

/** The only image of a layout; builders put attestations beside it, for the platform "unknown". */
function only(path: string, layout: string): Descriptor {
  let entries: readonly Descriptor[];
  try {
    const file: unknown = JSON.parse(readFileSync(join(layout, "index.json"), "utf8"));
    entries = index.parse(file).manifests;
  } catch (error) {
    throw notAnImage(path, error instanceof Error ? error.message : String(error));
  }
  const images = entries
    .flatMap((entry) =>
      /index|manifest\.list/.test(entry.mediaType)
        ? read(layout, entry.digest, index).manifests
        : [entry],
    )
    .filter(
      ({ platform = PLATFORM }) =>
        platform.os === PLATFORM.os && platform.architecture === PLATFORM.architecture,
    );
  const [image, second] = [...new Map(images.map((each) => [each.digest, each])).values()];
  if (image !== undefined && second === undefined) return image;
  throw notAnImage(path, `${image === undefined ? "no" : "more than one"} image for linux/amd64`);
}

function read<T>(layout: string, digest: string, form: z.ZodType<T>): T {
  const file = join(layout, "blobs", "sha256", digest.replace("sha256:", ""));
  return form.parse(JSON.parse(readFileSync(file, "utf8")));
}

function layerOf({ digest, size }: Descriptor): Layer {
  return { digest, bytes: size };
}
