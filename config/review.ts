import type * as z from "zod";
import { nearest } from "./nearest.ts";
import type { Field, Path } from "./fields.ts";
import { accepts, allowedBy, fieldAt, hintOf, isBoolean, isNumeric, keysOf } from "./fields.ts";
import type { Problem } from "./problems.ts";
import { keyOf, Remedies, shown } from "./problems.ts";
import { PROJECT, stackSchema } from "./schema.ts";
import { isSecretValue } from "./secrets.ts";

/** Collects the problems of one raw configuration, at most one a key. */
export class Review {
  readonly remedies: Remedies;
  readonly #raw: Readonly<Record<string, unknown>>;
  readonly #found: { readonly path: Path; readonly problem: Problem }[] = [];

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
    return this.#isRefused(path) ? undefined : this.raw(path);
  }

  /**
   * Adds a problem, unless its key or a key above it has one already: the first reason is the
   * cause of what follows.
   */
  add(path: Path, wrong: string, allowed: string, remedy: string): void {
    if (this.#isRefused(path)) return;
    const key = keyOf(path);
    const line = `${key} = ${shown(path, this.raw(path))}: ${wrong} (${allowed}); ${remedy}`;
    this.#found.push({ path, problem: { key, line } });
  }

  /** Refuses what is encrypted, and plain values that look like credentials. */
  checkSecrets(encrypted: readonly string[]): void {
    for (const key of encrypted) {
      this.#found.push({
        path: [key],
        problem: {
          key: keyOf([key]),
          line:
            `${keyOf([key])} = (encrypted): no secret belongs here, the cluster holds them ` +
            `(plain values; hfTokenSecret and pullSecret name a Secret); ` +
            `write what stands under secure: in ${this.remedies.file} as a plain value, or remove it`,
        },
      });
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

  #isRefused(path: Path): boolean {
    return this.#found.some(
      (found) =>
        found.path.length <= path.length && found.path.every((segment, at) => segment === path[at]),
    );
  }

  #walkStrings(value: unknown, path: Path, visit: (path: Path, text: string) => void): void {
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
    const known = keysOf(fieldAt(path));
    const full = [...path, key];
    const dotted = key.split(/[.[\]]+/).filter((part) => part !== "");
    if (path.length === 0 && dotted.length > 1 && fieldAt(dotted) !== undefined) {
      this.add(
        full,
        "one key with dots in its name, not a value inside a map",
        `${PROJECT}:${dotted[0] ?? ""} with ${dotted.slice(1).join(".")} inside`,
        `run: pulumi config rm, then set, it with --path`,
      );
      return;
    }
    const value = this.raw(full);
    const guess = nearest(key, known);
    this.add(
      full,
      `unknown key, did you mean ${guess}?`,
      known.join(", "),
      `rename it in ${this.remedies.file}` +
        (value === undefined ? "" : `, or ${this.remedies.remove(full)}`),
    );
  }

  #badValue(path: Path, foreign: readonly string[]): void {
    const field = fieldAt(path);
    if (field === undefined) return;
    const value = this.raw(path);
    const strays =
      value === undefined && path.length === 1 ? foreign.filter((key) => isStray(key, path)) : [];
    const wrong =
      strays.length > 0
        ? `required, and ${strays.join(", ")} is another program's namespace`
        : wrongWith(field, value);
    this.add(path, wrong, allowedBy(field), this.#remedy(path, field, value));
  }

  #remedy(path: Path, field: Field, value: unknown): string {
    const better = intended(field, value) ?? hintOf(field).example;
    if (better === undefined || keysOf(field).length > 0) return this.remedies.write(path, field);
    return typeof better === "string" && /^[[{]/.test(better)
      ? this.remedies.write(path, field)
      : this.remedies.set(path, better);
  }
}

const isStray = (key: string, path: Path): boolean => {
  const name = key.slice(key.indexOf(":") + 1);
  return name === path[0] || name.startsWith(`${String(path[0])}.`);
};

/** The value that a wrongly typed one was meant to be, if that is beyond doubt. */
function intended(field: Field, value: unknown): number | boolean | undefined {
  if (typeof value !== "string") return undefined;
  const text = value.trim();
  const meant =
    isNumeric(field) && /^\d+$/.test(text)
      ? Number(text)
      : isBoolean(field) && /^(true|false)$/i.test(text)
        ? text.toLowerCase() === "true"
        : undefined;
  return meant !== undefined && accepts(field, meant) ? meant : undefined;
}

function wrongWith(field: Field, value: unknown): string {
  const { wrong } = hintOf(field);
  if (value === undefined) return "required";
  if (wrong !== undefined) return wrong;
  if (value === null || (typeof value === "string" && value.trim() === "")) return "blank";
  if (isNumeric(field)) return wrongNumber(value);
  if (isBoolean(field)) return typeof value === "boolean" ? "not allowed" : "not true or false";
  if (keysOf(field).length > 0) return "not a map";
  if (typeof value === "number" || typeof value === "boolean") {
    return "not text: YAML reads unquoted digits and words as numbers and booleans";
  }
  return typeof value === "string" ? "not of the allowed form" : "not text";
}

function wrongNumber(value: unknown): string {
  if (typeof value === "string") return "text, and text is never read as a number";
  if (typeof value !== "number") return "not a number";
  if (!Number.isFinite(value)) return "not finite";
  return Number.isInteger(value) ? "outside the range" : "not a whole number";
}

