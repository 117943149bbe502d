import { HIDDEN, isSecretName, SECRET_VALUES } from "../config/secrets.ts";

/** Key by which the engine marks a secret that it has encrypted. */
const ENGINE_SECRET = "4dabf18193072939515e22adb298388d";

/**
 * A value of an object's inputs without its secrets: those that the engine knows, every value of a Secret, and what
 * looks like one by its name or its form. Names of Secrets and keys in them stay: they tell where a value comes from.
 * @param path where the value stands, as in {@link FieldChange.path}
 * @param kind Kubernetes kind of the object
 */
export function maskedValue(value: unknown, path: string, kind: string): unknown {
  if (kind === "Secret") {
    if (/^(data|stringData)\b/.test(path)) return HIDDEN;
    if (path === "" && typeof value === "object" && value !== null) {
      return { ...value, data: HIDDEN, stringData: HIDDEN };
    }
  }
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

/**
 * The secrets that stand in the inputs of objects, as far as names and forms tell: to be taken out of every text that may
 * quote them without their names.
 */
export function secretsIn(value: unknown, path: string, kind: string): readonly string[] {
  const found = new Set<string>();
  const shown = maskedValue(value, path, kind);
  collect(value, shown, found);
  return [...found];
}

/** Shorter ones would take ordinary words out of a text. */
const SHORTEST_SECRET = 6;

function collect(value: unknown, shown: unknown, found: Set<string>): void {
  if (typeof value === "string") {
    if (value !== shown && value.length >= SHORTEST_SECRET) found.add(value);
  } else if (typeof value === "object" && value !== null) {
    for (const [key, inner] of Object.entries(value)) {
      const hidden = typeof shown !== "object" || shown === null;
      collect(inner, hidden ? HIDDEN : (shown as Readonly<Record<string, unknown>>)[key], found);
    }
  }
}

/** `HF_TOKEN=x`, `"apiKey": "x"`, `--api-key x`: a name, what stands between, and the value. */
const NAMED_VALUE = /([\w.-]{2,64})(["'\]]{0,2}(?:\s*[:=]\s*|\s+)["']?)([^\s"',;}]+)/g;

const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g;

/** A form begins what is hidden; it ends with the word. */
const SHAPES = SECRET_VALUES.map((shape) => new RegExp(`${shape.source}[^\\s"'\`,;}]*`, "g"));

/**
 * A text, such as a message or the CLI's own diff, without what looks like a secret by its name or its form.
 * @param known of {@link secretsIn}
 */
export function maskedText(text: string, known: readonly string[] = []): string {
  const unknown = known.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), text);
  const shaped = SHAPES.reduce(
    (rest, shape) => rest.replaceAll(shape, HIDDEN),
    unknown.replaceAll(PRIVATE_KEY, HIDDEN),
  );
  return shaped.replaceAll(NAMED_VALUE, (whole, name: string, between: string, value: string) => {
    const spaced = /^["'\]]{0,2}\s+["']?$/.test(between);
    // In prose a word follows a word; only a flag is followed by its value.
    if ((spaced && !name.startsWith("--")) || value.startsWith(HIDDEN)) return whole;
    return isSecretName(name) ? `${name}${between}${HIDDEN}` : whole;
  });
}
