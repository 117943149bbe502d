/** Size of layers against the largest request that a proxy lets through. Pure. */

/** One layer of an image. */
export interface Layer {
  readonly digest: string;
  /** Compressed size: what is sent. */
  readonly bytes: number;
}

const MIB = 1024 * 1024;

/** A chunk is held in memory, and is what one retry sends again. */
const LARGEST_CHUNK_MIB = 64;

/**
 * Bytes of one chunk of an upload: below the limit by a tenth, since "100 MB" may mean 100,000,000 bytes.
 * @param limitMiB largest body of one request, 1..10240
 */
export function chunkBytes(limitMiB: number): number {
  return Math.floor(Math.min(LARGEST_CHUNK_MIB, limitMiB * 0.9) * MIB);
}

/** Layers that do not fit one request. */
function layersAbove(layers: readonly Layer[], limitMiB: number): readonly Layer[] {
  return layers.filter(({ bytes }) => bytes > limitMiB * MIB);
}

/** Bytes of the largest request of a push. */
export function largestRequest(
  layers: readonly Layer[],
  limitMiB: number,
  inChunks: boolean,
): number {
  const fits = layers.filter(({ bytes }) => bytes <= limitMiB * MIB || !inChunks);
  const whole = Math.max(0, ...fits.map(({ bytes }) => bytes));
  return fits.length < layers.length ? Math.max(whole, chunkBytes(limitMiB)) : whole;
}

/** One line for each layer that does not fit one request: how it goes nevertheless. */
export function chunkNotes(layers: readonly Layer[], limitMiB: number): readonly string[] {
  const chunk = chunkBytes(limitMiB);
  return layersAbove(layers, limitMiB).map(
    (layer) =>
      `${nameOf(layer, layers)} is ${mib(layer.bytes)}, above registry.maxLayerMiB = ${limitMiB}: ` +
      `goes in ${Math.ceil(layer.bytes / chunk)} chunks of ${mib(chunk)}`,
  );
}

/** One line for each layer that cannot be sent whole; empty when all can. */
export function tooLargeWhole(layers: readonly Layer[], limitMiB: number): readonly string[] {
  return layersAbove(layers, limitMiB).map(
    (layer) =>
      `llm-serving:registry.maxLayerMiB = ${limitMiB}: ${nameOf(layer, layers)} is ${mib(layer.bytes)} compressed ` +
      `(at most ${limitMiB} MiB in one request); push in chunks (leave out CHUNKS=no), install less in one RUN line ` +
      "of the Dockerfile, or set llm-serving:registry.push to an address around the proxy and the limit to that one's",
  );
}

/** Such as "layer 3 of 7, sha256:0123456789ab". */
function nameOf(layer: Layer, layers: readonly Layer[]): string {
  return `layer ${layers.indexOf(layer) + 1} of ${layers.length}, ${layer.digest.slice(0, "sha256:".length + 12)},`;
}

/** Such as "2713.4 MiB": rounded up, so that what is above a limit never reads like it. */
export function mib(bytes: number): string {
  return `${Math.ceil((bytes / MIB) * 10) / 10} MiB`;
}
