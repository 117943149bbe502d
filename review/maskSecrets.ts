import { HIDDEN, isSecretName, isSecretValue, SECRET_VALUES } from "../config/secrets.ts";

/** Key by which the engine marks a secret that it has encrypted. */
const ENGINE_SECRET = "4dabf18193072939515e22adb298388d";

/**
 * A value of an object's inputs without its secrets: those that the engine knows, every value of a Secret, and what
 * looks like one by its name or its form. Names of Secrets and keys in them stay: they tell where a value comes from.
 * @param path where the value stands, as in {@link FieldChange.path}
 * @param kind Kubernetes kind of the object
 */
export function maskedValue(value: unknown, path: string, kind: string): unknown {
  if (kind === "Secret" && /^(data|stringData)\b/.test(path)) return HIDDEN;
  const name = /\[([^\]]*)\]\.value$/.exec(path)?.[1] ?? /([^.[\]]+)\]?$/.exec(path)?.[1] ?? "";
  return masked(value, isSecretName(name));
}

function masked(value: unknown, secret: boolean): unknown {
  if (typeof value === "string") return secret ? HIDDEN : maskedText(value);
  if (Array.isArray(value)) return value.map((item) => masked(item, secret));
  if (typeof value !== "object" || value === null) return value;
  if (ENGINE_SECRET in value) return HIDDEN;
  const { name } = value as { readonly name?: unknown };
  // An item of `env`: its name says what its value is.
  const named = typeof name === "string" && isSecretName(name);
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      masked(inner, isSecretName(key) || (named && key === "value")),
    ]),
  );
}

/** `HF_TOKEN=x`, `"apiKey": "x"`, `--api-key x`: a name, what stands between, and the value. */
const NAMED_VALUE = /([\w.-]{2,64})(["'\]]{0,2}(?:\s*[:=]\s*|\s+)["']?)([^\s"',;}]+)/g;

/** A text, such as a message or the CLI's own diff, without what looks like a secret by its name or its form. */
export function maskedText(text: string): string {
  const shaped = SECRET_VALUES.reduce(
    (rest, shape) => rest.replaceAll(new RegExp(shape.source, "g"), HIDDEN),
    text,
  );
  return shaped.replaceAll(NAMED_VALUE, (whole, name: string, between: string, value: string) => {
    const spaced = /^["'\]]{0,2}\s+["']?$/.test(between);
    // In prose a word follows a word; only a flag is followed by its value.
    if (spaced && !name.startsWith("--")) return whole;
    return isSecretName(name) && !isSecretValue(value) ? `${name}${between}${HIDDEN}` : whole;
  });
}
