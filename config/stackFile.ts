// Names of stacks and of their files. It loads nothing else of the program: a wrong name is told at once.
import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";

/** This clone, where the stack files lie. */
export const repository = resolve(import.meta.dirname, "..");

/** What is wrong with a stack's name or its file, in one line for a person. */
export class StackFileError extends Error {
  override readonly name = "StackFileError";
}

/** File that holds a stack's configuration. */
export function stackFile(stack: string): string {
  return `Pulumi.${stack}.yaml`;
}

/**
 * The name of a stack as a person gave it to make.
 * @param stack what STACK says
 * @param folder folder of the stack files, default this clone
 * @returns `stack`, when it has a file there
 * @throws {StackFileError} otherwise, naming those that have one
 */
export function checkedStack(stack: string, folder: string = repository): string {
  if (/^[\w.-]+$/.test(stack) && existsSync(join(folder, stackFile(stack)))) return stack;
  const known = knownStacks(folder);
  const wrong = stack === "" ? "no stack is named" : `there is no ${stackFile(stack)}`;
  throw new StackFileError(
    `STACK = ${stack}: ${wrong} (${known.join(" | ") || "none"}); set STACK=${known[0] ?? "dev"}`,
  );
}

function knownStacks(folder: string): readonly string[] {
  return readdirSync(folder)
    .flatMap((file) => /^Pulumi\.([\w.-]+)\.yaml$/.exec(file)?.slice(1) ?? [])
    .sort();
}
