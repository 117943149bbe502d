import { parse } from "yaml";
import { PROJECT } from "./schema.ts";

/**
 * This program's values in the text of a stack file, by the part of their key after `llm-serving:`.
 * @throws Error when it is no YAML
 */
export function ownValues(text: string): Record<string, unknown> {
  const file = parse(text) as { readonly config?: Readonly<Record<string, unknown>> } | null;
  return Object.fromEntries(
    Object.entries(file?.config ?? {})
      .filter(([key]) => key.startsWith(`${PROJECT}:`))
      .map(([key, value]) => [key.slice(PROJECT.length + 1), value]),
  );
}
