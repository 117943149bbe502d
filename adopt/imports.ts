import * as pulumi from "@pulumi/pulumi";

/**
 * Environment variable of a run that adopts live objects, set by `make adopt` alone: a JSON object of import id by
 * `<type>::<name>`. Empty (`{}`) renders without importing.
 */
export const ADOPT = "LLM_SERVING_ADOPT";

/** Import id by `<type>::<name>`, as {@link ADOPT} carries it. */
export type Imports = Readonly<Record<string, string>>;

/**
 * The objects that this run imports; undefined in every run but an adoption's.
 * @throws pulumi.RunError when the variable holds anything else
 */
export function adopting(): Imports | undefined {
  const text = process.env[ADOPT];
  if (text === undefined) return undefined;
  const value = parsed(text);
  if (value === undefined) {
    throw new pulumi.RunError(`${ADOPT} = ${text}: \`make adopt\` alone sets it; unset it`);
  }
  return value;
}

/** In an adoption's run, gives each object that is to be adopted its `import` option; else it does nothing. */
export function importAdopted(): void {
  const imports = adopting();
  if (imports === undefined) return;
  // Not registerResourceTransform: that one cannot set `import`.
  pulumi.runtime.registerStackTransformation(({ type, name, props, opts }) => {
    const id = imports[`${type}::${name}`];
    return id === undefined
      ? undefined
      : { props, opts: pulumi.mergeOptions(opts, { import: id }) };
  });
}

function parsed(text: string): Imports | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isImports(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isImports(value: unknown): value is Imports {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((id) => typeof id === "string");
}
