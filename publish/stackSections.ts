import { readFileSync } from "node:fs";
import { join } from "node:path";
import { checkedStack, repository, stackFile } from "../config/stackFile.ts";
import { ownValues } from "../config/stackText.ts";

/**
 * Values of a stack's file by the part of their key after `llm-serving:`.
 * @param folder folder of the stack files
 * @throws {StackFileError} when the stack has no file, or one that is no YAML
 */
export function stackSections(stack: string, folder = repository): Record<string, unknown> {
  const file = stackFile(checkedStack(stack, folder));
  return ownValues(readFileSync(join(folder, file), "utf8"), file);
}
