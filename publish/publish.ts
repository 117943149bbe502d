// `make image`: clef-serve's image is built, its layers are held against the registry's limit, and it is pushed in
// chunks below it. Nothing is deployed: the last lines are the commands that make a stack use it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { StackFileError } from "../config/stackFile.ts";
import { buildImage } from "./buildImage.ts";
import { openImage } from "./imageLayout.ts";
import { chunkBytes, chunkNotes, largestRequest, mib, tooLargeWhole } from "./layers.ts";
import { proxyRefusal, refusalText } from "./proxyRefusal.ts";
import { PublishError } from "./publishError.ts";
import { pushImage } from "./pushImage.ts";
import { regctlFor } from "./regctl.ts";
import { registryOf } from "./registryOf.ts";
import { stackSections } from "./stackSections.ts";
import { useCommands } from "./useCommands.ts";

const usage =
  "usage: node publish/publish.ts --stack <name> [--archive <file or folder>] [--base <image>] [--no-chunks] " +
  "[--stack-folder <folder>]";

interface Arguments {
  readonly stack: string;
  /** An image that exists: nothing is built. */
  readonly archive: string | undefined;
  readonly base: string | undefined;
  readonly inChunks: boolean;
  readonly stackFolder: string | undefined;
}

const IMAGE = "clef-serve";

async function publish(args: Arguments, folder: string): Promise<void> {
  const { stack, archive, inChunks } = args;
  const sections = stackSections(stack, args.stackFolder);
  const { pull, push, pushKey, maxLayerMiB } = registryOf(sections, stack);
  const regctl = await regctlFor(
    {
      prefixes: [push, pull],
      wholeUpToBytes: inChunks ? maxLayerMiB * 2 ** 20 : undefined,
      chunkBytes: chunkBytes(maxLayerMiB),
    },
    folder,
  );
  const file = archive === undefined ? join(folder, "image.tar") : resolve(archive);
  if (archive === undefined) await buildImage(file, args.base);
  const image = await openImage(file, folder, regctl, console.error);

  const { layers } = image;
  const total = layers.reduce((sum, { bytes }) => sum + bytes, 0);
  const count = layers.length === 1 ? "1 layer" : `${layers.length} layers`;
  console.log(`${IMAGE}: ${count}, ${mib(total)} compressed`);
  const tooLarge = inChunks ? [] : tooLargeWhole(layers, maxLayerMiB);
  if (tooLarge.length > 0) throw new PublishError(tooLarge.join("\n"));
  for (const note of chunkNotes(layers, maxLayerMiB)) console.log(`  ${note}`);

  const repository = `${push}/${IMAGE}`;
  const largestRequestBytes = largestRequest(layers, maxLayerMiB, inChunks);
  const refusal = await proxyRefusal(repository, largestRequestBytes);
  if (refusal !== undefined) throw new PublishError(refusalText(refusal, push, maxLayerMiB));
  console.log(`pushing to ${repository}, at most ${mib(largestRequestBytes)} in one request`);
  const tag = await pushImage(
    { image, repository, pushKey, maxLayerMiB, largestRequestBytes, log: console.error },
    regctl,
  );
  console.log(`pushed ${repository}:${tag}\ndigest ${image.digest}`);

  const reference = `${pull}/${IMAGE}@${image.digest}`;
  if (pull !== push && (await regctl.run(["manifest", "head", reference], 30)).code !== 0) {
    console.error(
      `warning: ${reference} cannot be seen from here; if the nodes cannot either, registry.pull and registry.push ` +
        "are not two addresses of one registry",
    );
  }
  console.log(["", ...useCommands(stack, reference, sections.clefServe)].join("\n"));
}

function argumentsOf(): Arguments | undefined {
  try {
    const { values } = parseArgs({
      options: {
        stack: { type: "string" },
        archive: { type: "string" },
        base: { type: "string" },
        "no-chunks": { type: "boolean", default: false },
        "stack-folder": { type: "string" },
      },
    });
    const { stack, archive, base, "no-chunks": whole, "stack-folder": stackFolder } = values;
    return stack === undefined
      ? undefined
      : { stack, archive, base, inChunks: !whole, stackFolder };
  } catch {
    return undefined;
  }
}

/** @returns 0 the image is in the registry, 1 it is not, 2 wrong usage */
async function main(): Promise<number> {
  const args = argumentsOf();
  if (args === undefined) {
    console.error(usage);
    return 2;
  }
  const folder = mkdtempSync(join(tmpdir(), "llm-serving-image-"));
  // Some GiB, also after Ctrl-C and after the end of the terminal or of an SSH session.
  process.once("exit", () => {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.once(signal, () => process.exit(130));
  try {
    await publish(args, folder);
    return 0;
  } catch (error) {
    if (!(error instanceof PublishError || error instanceof StackFileError)) throw error;
    console.error(error.message);
    return 1;
  }
}

process.exitCode = await main();
