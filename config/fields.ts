import * as z from "zod";
import type { FieldHint } from "./schema.ts";
import { hints, stackSchema } from "./schema.ts";

/** Where a value stands below `llm-serving:`, such as ["gpuNodes", 0, "cards"]. */
export type Path = readonly (string | number)[];

/** One place of the schema, without the wrappers for optional values and defaults. */
export type Field = z.core.$ZodType;

function unwrap(schema: z.core.$ZodType): Field {
  return schema instanceof z.ZodOptional ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault
    ? unwrap(schema.unwrap())
    : schema;
}

/** The keys below a map of the schema; none for other fields. */
export function keysOf(field: Field | undefined): readonly string[] {
  return field instanceof z.ZodObject ? Object.keys(field.shape) : [];
}

function child(field: Field, segment: string | number): Field | undefined {
  if (field instanceof z.ZodArray) return unwrap(field.element);
  if (field instanceof z.ZodRecord) return unwrap(field.valueType);
  if (!(field instanceof z.ZodObject) || !Object.hasOwn(field.shape, segment)) return undefined;
  const schema: unknown = field.shape[segment];
  return schema instanceof z.ZodType ? unwrap(schema) : undefined;
}

/** The field of the schema at a path, undefined where the schema knows no such key. */
export function fieldAt(path: Path): Field | undefined {
  let field: Field | undefined = stackSchema;
  for (const segment of path) field = field && child(field, segment);
  return field;
}

/** Every field without keys of its own, with its path; lists count as their first entry. */
export function leaves(field: Field = stackSchema, path: Path = []): [Path, Field][] {
  const segments = field instanceof z.ZodArray ? [0] : keysOf(field);
  if (segments.length === 0) return [[path, field]];
  return segments.flatMap((segment) => {
    const next = child(field, segment);
    return next === undefined ? [] : leaves(next, [...path, segment]);
  });
}

/**
 * A minimal valid value as one line of YAML: the required keys with their examples, such as
 * `{replicas: 1}`.
 */
export function sampleYaml(field: Field): string {
  const { example } = hintOf(field);
  if (example !== undefined || !(field instanceof z.ZodObject)) return String(example);
  const entries = Object.entries<z.core.$ZodType>(field.shape)
    .filter(([, schema]) => unwrap(schema) === schema)
    .map(([key, schema]) => `${key}: ${sampleYaml(schema)}`);
  return `{${entries.join(", ")}}`;
}

/** What the schema's author noted for messages. */
export function hintOf(field: Field | undefined): FieldHint {
  return (field && hints.get(field)) ?? {};
}

/** The allowed values in words, such as "an integer 0..16, unquoted". */
export function allowedBy(field: Field): string {
  const { allowed } = hintOf(field);
  if (allowed !== undefined) return allowed;
  if (field instanceof z.ZodNumberFormat) {
    return `an integer ${field.minValue ?? ""}..${field.maxValue ?? ""}, unquoted`;
  }
  if (field instanceof z.ZodNumber) {
    return `a number above 0, at most ${field.maxValue ?? ""}, unquoted`;
  }
  if (field instanceof z.ZodBoolean) return "true | false, unquoted";
  if (field instanceof z.ZodLiteral) return [...field.values].join(" | ");
  if (field instanceof z.ZodEnum) return field.options.join(" | ");
  return `a map of ${keysOf(field).join(", ")}`;
}

/** Whether a field takes numbers. */
export function isNumeric(field: Field | undefined): boolean {
  return (
    field instanceof z.ZodNumber ||
    (field instanceof z.ZodLiteral && [...field.values].every((value) => typeof value === "number"))
  );
}

/** Whether a field takes true or false, or only one of them. */
export function isBoolean(field: Field | undefined): boolean {
  return (
    field instanceof z.ZodBoolean ||
    (field instanceof z.ZodLiteral &&
      [...field.values].every((value) => typeof value === "boolean"))
  );
}

/** Whether zod accepts a value for this field alone. */
export function accepts(field: Field, value: unknown): boolean {
  return z.safeParse(field, value).success;
}
