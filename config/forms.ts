import * as z from "zod";

/** What messages need to know of a value beyond its type. */
export interface FieldHint {
  /** The allowed values in words, where the type does not say it. */
  readonly allowed?: string;
  /** A value that a remedy can set: the default where there is one, else a typical value. */
  readonly example?: string | number | boolean;
  /** What is wrong with a text of the wrong form; undefined: nothing better to say. */
  readonly wrong?: (text: string) => string | undefined;
  /** True where the remedy is to remove the key. */
  readonly remove?: boolean;
}

/** Hints by schema; kept out of zod's own metadata, which goes into the JSON Schema. */
export const hints = z.registry<FieldHint>();

/** Kubernetes object name, RFC 1123 subdomain. */
const SUBDOMAIN = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
/** Namespace name, RFC 1123 label. */
export const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
export const HUB_ID = /^[A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.-]*$/;
const MODEL_PATH = /^\/models(\/(?!\.{1,2}(\/|$))[\w.+@=-]+)+$/;
export const MODEL_NAME = /^[A-Za-z0-9][\w.-]{0,99}$/;
const PART = "[a-z0-9]+([._-]+[a-z0-9]+)*";
const PORT = ":[0-9]{1,5}";
/** 1..65535. */
const REAL_PORT =
  ":(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3})";
/** Where images lie: host, port and path. */
const REPOSITORIES = new RegExp(`^${PART}(${REAL_PORT})?(/${PART})*$`);
/** A port needs a path behind it: in `x:1`, the 1 is a tag. */
const IMAGE = new RegExp(
  `^${PART}((${PORT})?(/${PART})+)?(:(?!latest$)\\w[\\w.-]{0,127}|@sha256:[0-9a-f]{64})$`,
);
/** A kubeconfig context: one line without blanks at its ends. */
export const CONTEXT = /^\S(.*\S)?$/;

/** What a shell and Kubernetes both take; `__proto__` would not survive as a key. */
export const VARIABLE_NAME = /^(?!__proto__$)[A-Za-z_]\w{0,252}$/;

/** A text of one form; `example` is what a remedy sets. */
export const text = (form: RegExp, allowed: string, description: string, example?: string) =>
  z
    .string()
    .regex(form)
    .describe(description)
    .register(hints, { allowed, ...(example === undefined ? {} : { example }) });

/** A whole number in a range. */
export const count = (min: number, max: number, example: number, description: string) =>
  z.int().min(min).max(max).describe(description).register(hints, { example });

/** A count with a default: the default is the example. */
export const countOr = (fallback: number, min: number, max: number, description: string) =>
  count(min, max, fallback, description).default(fallback);

/** true or false, with a default. */
export const flagOr = (fallback: boolean, description: string) =>
  z.boolean().describe(description).register(hints, { example: fallback }).default(fallback);

/** One of a few words; the first is the example. */
export const choice = <const T extends string>(options: readonly T[], description: string) =>
  z
    .enum(options)
    .describe(description)
    .register(hints, { example: options[0] ?? "" });

/** Name of a Kubernetes object. */
export const objectName = (description: string, example: string) =>
  text(SUBDOMAIN, "a Kubernetes object name: lower case, digits, - and .", description, example);

/** A path in the claim with the models. */
export const modelPath = (description: string, example: string) =>
  text(MODEL_PATH, "an absolute path below /models", description, example);

/** A size that need not be whole, above 0. */
export const size = (max: number, example: number, description: string) =>
  z.number().positive().max(max).describe(description).register(hints, { example });

/** A registry's host, and the path below which images lie in it. */
export const repositories = (description: string, example: string) =>
  z.string().regex(REPOSITORIES).describe(description).register(hints, {
    allowed: "host/path without tag",
    example,
    wrong: wrongRepositories,
  });

/** Why a text is no place for images. */
function wrongRepositories(prefix: string): string | undefined {
  if (prefix.includes("://")) return "begins with a scheme";
  if (prefix.includes("@")) return "holds a login, which docker login keeps, or a digest";
  const port = /^[^/]*:([0-9]+)(\/|$)/.exec(prefix)?.[1];
  return port === undefined || (Number(port) >= 1 && Number(port) <= 65_535)
    ? undefined
    : "a port is 1..65535";
}

/**
 * A container image.
 *
 * @param name last part of the example, such as candle-vllm
 */
export const image = (name: string) =>
  z
    .string()
    .regex(IMAGE)
    .describe(
      "Container image as repo@sha256:<64 hex>; repo:tag only where registry.requireDigests is " +
        "false, never latest. May be absent while replicas is 0.",
    )
    .register(hints, {
      allowed: "repo@sha256:<64 hex>, or repo:tag where registry.requireDigests is false",
      example: `registry.example/llm/${name}@sha256:<64 hex>`,
      wrong: wrongImage,
    });

/** Why a text is no image that a pod may run. */
function wrongImage(image: string): string | undefined {
  if (/:latest($|@)/.test(image)) return "latest is whatever was pushed last";
  if (/:[^/@]+@/.test(image)) return "a tag beside a digest says nothing";
  return /[:@][^/]*$/.test(image) ? undefined : "neither a digest nor a tag, which means latest";
}
