import * as z from "zod";
import type { FieldHint } from "./forms.ts";
import { hints } from "./forms.ts";
import { stackSchema } from "./schema.ts";

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
  const entries = requiredKeys(field).map((key) => {
    const below = child(field, key);
    return below === undefined ? key : `${key}: ${sampleYaml(below)}`;
  });
  return `{${entries.join(", ")}}`;
}

function requiredKeys(field: Field): readonly string[] {
  if (!(field instanceof z.ZodObject)) return [];
  return Object.entries<Field>(field.shape)
    .filter(([, schema]) => unwrap(schema) === schema)
    .map(([key]) => key);
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
  if (field instanceof z.ZodLiteral) return `${[...field.values].join(" | ")}, unquoted`;
  if (field instanceof z.ZodEnum) return field.options.join(" | ");
  const required = requiredKeys(field);
  return `a map with ${(required.length > 0 ? required : keysOf(field)).join(", ")}`;
}

/** Whether a field is a list. */
export function isList(field: Field): boolean {
  return field instanceof z.ZodArray;
}

/** Whether a field is a map or a list, which no `pulumi config set` can write at once. */
export function isNested(field: Field): boolean {
  return isList(field) || field instanceof z.ZodObject || field instanceof z.ZodRecord;
}

/** Whether a field takes numbers. */
export function isNumeric(field: Field | undefined): boolean {
  return field instanceof z.ZodNumber || isLiteralOf(field, "number");
}

/** Whether a field takes whole numbers only. */
export function isInteger(field: Field): boolean {
  return field instanceof z.ZodNumberFormat || isLiteralOf(field, "number");
}

/** Whether a field takes true or false, or only one of them. */
export function isBoolean(field: Field | undefined): boolean {
  return field instanceof z.ZodBoolean || isLiteralOf(field, "boolean");
}

function isLiteralOf(field: Field | undefined, type: "number" | "boolean"): boolean {
  return field instanceof z.ZodLiteral && [...field.values].every((value) => typeof value === type);
}

/** Whether zod accepts a value for this field alone. */
export function accepts(field: Field, value: unknown): boolean {
  return z.safeParse(field, value).success;
}
