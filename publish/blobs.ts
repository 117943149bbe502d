import { createHash } from "node:crypto";
import { createReadStream, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { PublishError } from "./publishError.ts";

/** What a manifest or an index says of a blob. */
export interface BlobDescriptor {
  readonly digest: string;
  /** Bytes. */
  readonly size: number;
}

/** The blobs of one OCI layout; what is damaged on this machine is found here, and not in a registry's answers. */
export class Blobs {
  /** What the user named: a folder or an archive. */
  readonly #path: string;
  readonly #layout: string;

  constructor(path: string, layout: string) {
    this.#path = path;
    this.#layout = layout;
  }

  /**
   * Reads a small blob: a manifest, an index or a configuration.
   * @param name what it is, for the message
   * @throws {PublishError} when it is not what its descriptor says
   */
  text(blob: BlobDescriptor, name: string): string {
    this.#checkSize(blob, name);
    const content = readFileSync(this.#fileOf(blob));
    this.#checkDigest(blob, name, createHash("sha256").update(content).digest("hex"));
    return content.toString("utf8");
  }

  /**
   * Holds every layer against its descriptor: sizes first, which takes no time, then the digests.
   * @throws {PublishError} naming the first that is missing or damaged
   */
  async check(layers: readonly BlobDescriptor[]): Promise<void> {
    const nameOf = (at: number) => `layer ${at + 1} of ${layers.length}`;
    for (const [at, layer] of layers.entries()) this.#checkSize(layer, nameOf(at));
    for (const [at, layer] of layers.entries()) {
      const hash = createHash("sha256");
      for await (const part of createReadStream(this.#fileOf(layer))) hash.update(part as Buffer);
      this.#checkDigest(layer, nameOf(at), hash.digest("hex"));
    }
  }

  #fileOf({ digest }: BlobDescriptor): string {
    return join(this.#layout, "blobs", "sha256", digest.replace("sha256:", ""));
  }

  #checkSize(blob: BlobDescriptor, name: string): void {
    const found = statSync(this.#fileOf(blob), { throwIfNoEntry: false })?.size;
    if (found === blob.size) return;
    const what = found === undefined ? "is missing" : `has ${found} bytes instead of ${blob.size}`;
    throw this.#damaged(blob, name, what);
  }

  #checkDigest(blob: BlobDescriptor, name: string, found: string): void {
    if (blob.digest === `sha256:${found}`) return;
    throw this.#damaged(blob, name, `has the digest sha256:${found}`);
  }

  #damaged({ digest }: BlobDescriptor, name: string, what: string): PublishError {
    return damagedImage(this.#path, `${name}, ${digest}, ${what}`);
  }
}

/**
 * That an image is damaged here.
 * @param path what the user named
 * @param what is wrong in it
 */
export function damagedImage(path: string, what: string): PublishError {
  return new PublishError(
    `${path}: ${what}: the image is damaged on this machine, and nothing was sent; build or save it again`,
  );
}
