import { keyOf, Remedies, shown } from "../config/problems.ts";
import { BOOTSTRAP_TIMES } from "../gpu/bootstrap.ts";

/**
 * The commands that make a stack use an image that has been pushed, as lines for a person. Pure.
 * @param reference the image by digest
 * @param clefServe the section of the stack's file, as it stands there
 */
export function useCommands(
  stack: string,
  reference: string,
  clefServe: unknown,
): readonly string[] {
  const remedies = new Remedies(stack);
  const command = (remedy: string) => `  ${remedy.replace("run: ", "")}`;
  const lines = [
    "To use it:",
    command(remedies.set(["clefServe", "image"], reference)),
    command(remedies.set(["clefServe", "bootstrap"], "image")),
  ];
  const { bootstrap, coldStartSeconds } = (clefServe ?? {}) as {
    readonly bootstrap?: unknown;
    readonly coldStartSeconds?: unknown;
  };
  // Who uses an image already has stated the cold start of one.
  if (coldStartSeconds === undefined || bootstrap === "image") return lines;
  const path = ["clefServe", "coldStartSeconds"];
  return [
    ...lines,
    `The stack states ${keyOf(path)} = ${shown(path, coldStartSeconds)} for the bootstrap so far, which would win over ` +
      `an image's ${BOOTSTRAP_TIMES.image.coldStartSeconds} s. To remove it:`,
    command(remedies.remove(path)),
  ];
}
