/** A stack's configuration before anybody has looked at it, without the prefix `llm-serving:`. */
export type Raw = Readonly<Record<string, unknown>>;

/** One rule that a stack breaks. */
export interface Violation {
  /** The kind of rule, for the counts. */
  readonly reason: string;
  /** Keys of which a message has to name one. */
  readonly keys: readonly string[];
}

export function isMap(value: unknown): value is Raw {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function segments(key: string): string[] {
  return key.split(/[.[\]"]+/).filter((segment) => segment !== "");
}

/** The value at a key such as `gpuNodes[0].cards`, undefined where there is none. */
export function valueAt(raw: unknown, key: string): unknown {
  return segments(key).reduce<unknown>(
    (value, segment) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, segment)
        ? Reflect.get(value, segment)
        : undefined,
    raw,
  );
}

/**
 * A copy with another value at a key, or without the key. Maps on the way are made where missing; below
 * a value that is neither map nor list nothing changes.
 */
export function changed(raw: Raw, key: string, value: unknown): Raw {
  const copy = structuredClone(raw);
  const path = segments(key);
  const last = path.pop() ?? "";
  let holder: object = copy;
  for (const segment of path) {
    let below: unknown = Reflect.get(holder, segment);
    if (below === undefined) Reflect.set(holder, segment, (below = {}));
    if (typeof below !== "object" || below === null) return raw;
    holder = below;
  }
  if (value === undefined && Array.isArray(holder)) holder.splice(Number(last), 1);
  else if (value === undefined) Reflect.deleteProperty(holder, last);
  else Reflect.set(holder, last, structuredClone(value));
  return copy;
}

/** Whether one key is the other or lies below it: messages may speak of a map or of what is in it. */
export function related(one: string, other: string): boolean {
  const below = (inner: string, outer: string) =>
    inner === outer || inner.startsWith(`${outer}.`) || inner.startsWith(`${outer}[`);
  return below(one, other) || below(other, one);
}
