import { readFileSync } from "node:fs";
import { z } from "zod";
import { parse } from "yaml";
import { AdoptionError } from "./command.ts";

const text = z.string().min(1);

const schema = z.strictObject({
  takeOver: z.array(text).default([]),
  differences: z.array(
    z.strictObject({ objects: z.array(text).min(1), fields: z.array(text).min(1), why: text }),
  ),
});

/** What adoption may do beyond making objects managed; everything else fails the plan. */
export interface Declared {
  /** Field managers beside kubectl's whose fields the program takes, by exact name. */
  readonly takeOver: readonly string[];
  /** Differences meant to be: by object (`Kind/name`) and field path; `*` stands for any text. */
  readonly differences: readonly {
    readonly objects: readonly string[];
    readonly fields: readonly string[];
    readonly why: string;
  }[];
}

/**
 * Reads a file of declared differences.
 * @throws {AdoptionError} when it cannot be read or is not of that form
 */
export function readDeclared(path: string): Declared {
  let content: unknown;
  try {
    content = parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new AdoptionError(`${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
  const result = schema.safeParse(content);
  if (result.success) return result.data;
  throw new AdoptionError(`${path}: ${z.prettifyError(result.error)}`);
}

/**
 * Whether a difference is declared on purpose.
 * @param object as in `Deployment/clef-serve`
 * @param path as in {@link Difference.path}
 */
export function isDeclared(declared: Declared, object: string, path: string): boolean {
  return declared.differences.some(
    ({ objects, fields }) =>
      objects.some((pattern) => matches(pattern, object)) &&
      fields.some((pattern) => matches(pattern, path)),
  );
}

/** `*` stands for any text, dots and brackets included; everything else for itself. */
function matches(pattern: string, value: string): boolean {
  const parts = pattern.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(value);
}
