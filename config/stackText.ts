import { parse, YAMLParseError } from "yaml";
import { PROJECT } from "./schema.ts";
import { StackFileError } from "./stackFile.ts";

/**
 * All values in the text of a stack file, this program's and others', by their full key.
 * @param file for the message, such as `Pulumi.prod.yaml` or `Pulumi.prod.yaml of HEAD~1`
 * @throws {StackFileError} with the line and the column when it is no YAML, or when it has no map of keys
 */
export function stackValues(text: string, file: string): Readonly<Record<string, unknown>> {
  const content = mapIn(parsed(text, file), file);
  return mapIn(content.config, `${file}: config`);
}

/**
 * This program's values in the text of a stack file, by the part of their key after `llm-serving:`.
 * @throws {StackFileError} as {@link stackValues}
 */
export function ownValues(text: string, file: string): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(stackValues(text, file))
      .filter(([key]) => key.startsWith(`${PROJECT}:`))
      .map(([key, value]) => [key.slice(PROJECT.length + 1), value]),
  );
}

/** An empty file and an empty `config:` are maps without keys. */
function mapIn(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (value === null || value === undefined) return {};
  if (typeof value === "object" && !Array.isArray(value)) return { ...value };
  throw new StackFileError(
    `${what}: is no map of keys (config: {<key>: <value>}); correct it there`,
  );
}

function parsed(text: string, file: string): unknown {
  try {
    return parse(text, { logLevel: "error" });
  } catch (error) {
    const place = error instanceof YAMLParseError ? error.linePos?.[0] : undefined;
    const where = place === undefined ? "" : `, line ${place.line}, column ${place.col}`;
    // After the place comes an excerpt of the file, in which a secret may stand.
    const [reason = ""] = String(error instanceof Error ? error.message : error).split(
      / at line \d|[;\n]/,
    );
    throw new StackFileError(`${file}${where}: no YAML (${reason}); correct it there`);
  }
}
