import type * as z from "zod";
import { nearest } from "./nearest.ts";
import type { Field, Path } from "./fields.ts";
import {
  accepts,
  allowedBy,
  fieldAt,
  hintOf,
  isBoolean,
  isInteger,
  isList,
  isNested,
  isNumeric,
  keysOf,
} from "./fields.ts";
import type { Problem } from "./problems.ts";
import { keyOf, Remedies, shown } from "./problems.ts";
import { stackSchema } from "./schema.ts";
import { HIDDEN, isSecretName, isSecretValue } from "./secrets.ts";

/** Depth below which nothing is looked at. */
const DEEPEST = 10;

/** Collects the problems of one raw configuration, at most one a key. */
export class Review {
  readonly remedies: Remedies;
  readonly #raw: Readonly<Record<string, unknown>>;
  readonly #found: { readonly path: Path; readonly problem: Problem }[] = [];
  readonly #refused = new Set<string>();

  constructor(raw: Readonly<Record<string, unknown>>, stack: string) {
    this.#raw = raw;
    this.remedies = new Remedies(stack);
  }

  /** The problems so far, in the order of the schema's sections, unknown keys last. */
  get problems(): readonly Problem[] {
    const sections = keysOf(stackSchema);
    const rank = ({ path }: { readonly path: Path }) => {
      const at = sections.indexOf(String(path[0]));
      return at === -1 ? sections.length : at;
    };
    return this.#found.toSorted((a, b) => rank(a) - rank(b)).map(({ problem }) => problem);
  }

  /** The raw value at a path; inherited properties do not count. */
  raw(path: Path): unknown {
    let value: unknown = this.#raw;
    for (const segment of path) {
      if (typeof value !== "object" || value === null || !Object.hasOwn(value, segment)) {
        return undefined;
      }
      value = Reflect.get(value, segment);
    }
    return value;
  }

  /** The raw value at a path, undefined if it or a part of it was refused already. */
  sound(path: Path): unknown {
    return this.isRefused(path) ? undefined : this.raw(path);
  }

  /**
   * Adds a problem, unless its key or a key above it has one already: the first reason is the
   * cause of what follows.
   */
  add(path: Path, wrong: string, allowed: string, remedy: string): void {
    this.#add(path, shown(path, this.raw(path)), wrong, allowed, remedy);
  }

  /** Whether a key or a key above it has a problem. */
  isRefused(path: Path): boolean {
    return path.some((_, at) => this.#refused.has(JSON.stringify(path.slice(0, at + 1))));
  }

  /** Refuses what is encrypted, and plain values that look like credentials. */
  checkSecrets(encrypted: readonly string[]): void {
    for (const key of encrypted) {
      this.#add(
        [key],
        "(encrypted)",
        "it is a secret or holds one, and no secret belongs here",
        "plain values; hfTokenSecret and registry.pullSecret name a Secret of the cluster",
        `replace what stands under secure: in ${this.remedies.file} by a plain value or remove it`,
      );
    }
    this.#walkStrings(this.#raw, [], (path, value) => {
      if (!isSecretValue(value)) return;
      this.add(
        path,
        "looks like a secret, and this file is no place for one",
        "the name of an existing Secret, in hfTokenSecret or registry.pullSecret",
        `${this.remedies.remove(path)} and revoke it if it was committed`,
      );
    });
  }

  /** Refuses secrets in plain text under other programs' namespaces: they stand in the same file. */
  checkForeignSecrets(values: Readonly<Record<string, string>>): void {
    for (const [key, value] of Object.entries(values)) {
      if (value === "" || !(isSecretName(key) || isSecretValue(value))) continue;
      const line =
        `${key} = ${HIDDEN}: looks like a secret in plain text (an encrypted value); ` +
        `${this.remedies.encrypt(key)}, and revoke it if it was committed`;
      this.#found.push({ path: [], problem: { key, line } });
    }
  }

  /** Turns what zod found into problems. */
  checkShape(issues: readonly z.core.$ZodIssue[], foreign: readonly string[]): void {
    for (const issue of issues) {
      const path = issue.path.filter((segment) => typeof segment !== "symbol");
      if (issue.code === "unrecognized_keys") {
        for (const key of issue.keys) this.#unknownKey(path, key);
      } else {
        this.#badValue(path, foreign);
      }
    }
  }

  #add(path: Path, value: string, wrong: string, allowed: string, remedy: string): void {
    if (this.isRefused(path)) return;
    const key = keyOf(path);
    this.#refused.add(JSON.stringify(path));
    const line = `${key} = ${value}: ${wrong} (${allowed}); ${remedy}`;
    this.#found.push({ path, problem: { key, line } });
  }

  #walkStrings(value: unknown, path: Path, visit: (path: Path, text: string) => void): void {
    // Nothing that the schema knows lies this deep; what it does not know is refused as a whole.
    if (path.length > DEEPEST) return;
    if (typeof value === "string") visit(path, value);
    else if (Array.isArray(value)) {
      value.forEach((entry, at) => {
        this.#walkStrings(entry, [...path, at], visit);
      });
    } else if (typeof value === "object" && value !== null) {
      for (const [key, entry] of Object.entries(value)) {
        this.#walkStrings(entry, [...path, key], visit);
      }
    }
  }

  #unknownKey(path: Path, key: string): void {
    const full = [...path, key];
    const dotted = key.split(".");
    const meant = path.length === 0 && dotted.length > 1 ? fieldAt(dotted) : undefined;
    if (meant !== undefined) {
      const allowed = `${dotted.slice(1).join(".")} inside ${keyOf(dotted.slice(0, 1))}`;
      const remove = this.remedies.remove(full);
      const remedy = `${remove}, then ${this.#remedy(dotted, meant, this.raw(full))}`;
      this.add(full, "set without --path", allowed, remedy);
      return;
    }
    const known = keysOf(fieldAt(path));
    const wrong = `unknown key, did you mean ${nearest(key, known)}?`;
    const remedy = `rename it in ${this.remedies.file}, or ${this.remedies.remove(full)}`;
    this.add(full, wrong, known.join(", "), remedy);
  }

  #badValue(path: Path, foreign: readonly string[]): void {
    const field = fieldAt(path);
    if (field === undefined) return;
    const value = this.raw(path);
    const strays = value === undefined ? foreign.filter((key) => isStray(key, path)) : [];
    const wrong =
      strays.length === 0
        ? wrongWith(field, value)
        : `required, and ${strays.join(", ")} is set under another program's namespace`;
    this.add(path, wrong, allowedBy(field), this.#remedy(path, field, value));
  }

  #remedy(path: Path, field: Field, value: unknown): string {
    const { example, remove } = hintOf(field);
    const meant = shown(path, value) === HIDDEN ? undefined : intended(field, value);
    if (meant !== undefined) return this.remedies.set(path, meant, this.raw(path));
    if (remove === true) return this.remedies.remove(path);
    return example === undefined || isNested(field)
      ? this.remedies.write(path, field)
      : this.remedies.set(path, example, this.raw(path));
  }
}

/** Whether a key of another namespace is this one's name, or that with a path behind it. */
function isStray(key: string, path: Path): boolean {
  const name = key.slice(key.indexOf(":") + 1);
  const wanted = path.join(".");
  return name === wanted || (path.length === 1 && name.startsWith(`${wanted}.`));
}

/** The value that one of the wrong type, or at the wrong place, was meant to be. */
function intended(field: Field, value: unknown): string | number | boolean | undefined {
  const candidates: (string | number | boolean)[] = [];
  if (typeof value === "string") {
    const text = value.trim();
    if (isNumeric(field) && /^\d+$/.test(text)) candidates.push(Number(text));
    if (isBoolean(field) && /^(true|false)$/i.test(text)) candidates.push(/^true$/i.test(text));
    candidates.push(value);
  } else if (typeof value === "number" || typeof value === "boolean") {
    candidates.push(String(value));
  }
  return candidates.find((candidate) => accepts(field, candidate));
}

function wrongWith(field: Field, value: unknown): string {
  const { wrong } = hintOf(field);
  if (value === undefined) return "required";
  if (value === null || (typeof value === "string" && value.trim() === "")) return "blank";
  if (isNumeric(field)) return wrongNumber(field, value);
  if (isBoolean(field)) {
    return typeof value === "boolean" ? "only true is possible" : "neither true nor false";
  }
  if (isList(field)) return Array.isArray(value) ? "too few or too many entries" : "not a list";
  if (isNested(field)) return "not a map";
  if (typeof value === "string") return wrong?.(value) ?? "not of the allowed form";
  if (typeof value === "number") return "a number, not text: YAML reads unquoted digits as one";
  return typeof value === "boolean" ? "true or false without quotes is not text" : "not text";
}

function wrongNumber(field: Field, value: unknown): string {
  if (typeof value === "string") return "text, which is never read as a number";
  if (typeof value !== "number") return "not a number";
  if (!Number.isFinite(value)) return "not finite";
  if (isInteger(field) && !Number.isInteger(value)) return "not a whole number";
  return "outside the range";
}
