import { createHash, randomFillSync } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const MIB = 2 ** 20;

/** An image of a test's own, as a folder with an OCI layout. */
export interface OciImage {
  readonly folder: string;
  readonly digest: string;
  readonly layers: readonly { readonly digest: string; readonly bytes: number }[];
}

/**
 * Writes an image for linux/amd64 whose layers are archives of one random file: random, so that it does not compress.
 * @param sizesMiB size of each file; the layer is a few hundred bytes larger
 * @param compressed false: layers as Docker's classic image store saves them
 */
export function writeOciImage(
  folder: string,
  sizesMiB: readonly number[],
  compressed = true,
): OciImage {
  const blobs = join(folder, "blobs", "sha256");
  mkdirSync(blobs, { recursive: true });
  const write = (content: Buffer): string => {
    const hash = sha256(content);
    writeFileSync(join(blobs, hash), content);
    return `sha256:${hash}`;
  };
  const suffix = compressed ? "+gzip" : "";
  const archives = sizesMiB.map((size) => tarOf("data", randomFillSync(Buffer.alloc(size * MIB))));
  const layers = archives.map((archive) => {
    // Level 0: what is random gains nothing from a search.
    const content = compressed ? gzipSync(archive, { level: 0 }) : archive;
    return { digest: write(content), bytes: content.length };
  });
  const config = Buffer.from(
    JSON.stringify({
      architecture: "amd64",
      os: "linux",
      config: {},
      rootfs: { type: "layers", diff_ids: archives.map((archive) => `sha256:${sha256(archive)}`) },
    }),
  );
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: "application/vnd.oci.image.manifest.v1+json",
      config: {
        mediaType: "application/vnd.oci.image.config.v1+json",
        digest: write(config),
        size: config.length,
      },
      layers: layers.map(({ digest, bytes }) => ({
        mediaType: `application/vnd.oci.image.layer.v1.tar${suffix}`,
        digest,
        size: bytes,
      })),
    }),
  );
  const digest = write(manifest);
  writeFileSync(join(folder, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  writeFileSync(
    join(folder, "index.json"),
    JSON.stringify({
      schemaVersion: 2,
      manifests: [
        {
          mediaType: "application/vnd.oci.image.manifest.v1+json",
          digest,
          size: manifest.length,
        },
      ],
    }),
  );
  return { folder, digest, layers };
}

function sha256(content: Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

/** A tar archive of one file. */
export function tarOf(name: string, content: Buffer): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write("0000644\0", 100);
  header.write("0000000\0", 108);
  header.write("0000000\0", 116);
  header.write(`${content.length.toString(8).padStart(11, "0")}\0`, 124);
  header.write("00000000000\0", 136);
  // The checksum counts its own field as blanks.
  header.write("        ", 148);
  header.write("0ustar\0" + "00", 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  const padding = Buffer.alloc((512 - (content.length % 512)) % 512);
  return Buffer.concat([header, content, padding, Buffer.alloc(1024)]);
}
