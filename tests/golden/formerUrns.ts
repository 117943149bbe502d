import type { Registered, RegisteredAlias } from "../support/mocks.ts";

/**
 * Every URN by which the engine finds one of these resources in a state: its own, those of its aliases, and those that
 * follow from its parents' aliases. It is what the engine does, for aliases of one step (read in Pulumi's source).
 */
export function knownUrns(resources: readonly Registered[]): ReadonlySet<string> {
  const byUrn = new Map(resources.map((resource) => [resource.urn, resource]));
  const names = new Map<string, readonly string[]>();
  const namesOf = (urn: string): readonly string[] => {
    const known = names.get(urn);
    if (known !== undefined) return known;
    const resource = byUrn.get(urn);
    const found = resource === undefined ? [urn] : [...new Set(namesOfOne(resource, namesOf))];
    names.set(urn, found);
    return found;
  };
  return new Set(resources.flatMap(({ urn }) => namesOf(urn)));
}

function namesOfOne(
  { urn, parent, aliases }: Registered,
  namesOf: (urn: string) => readonly string[],
): string[] {
  const own = partsOf(urn);
  const parents = hasName(parent) ? namesOf(parent) : [""];
  const inherited = parents.map((each) =>
    urnOf(own, each, own.type, formerName(own.name, parent, each)),
  );
  return [urn, ...inherited, ...aliases.flatMap((alias) => aliased(alias, own, parents, namesOf))];
}

function aliased(
  alias: RegisteredAlias,
  own: Parts,
  parents: readonly string[],
  namesOf: (urn: string) => readonly string[],
): string[] {
  if ("urn" in alias) return [alias.urn];
  const stated = hasName(alias.parent) ? namesOf(alias.parent) : parents;
  return (alias.noParent ? [""] : stated).map((parent) =>
    urnOf(own, parent, alias.type || own.type, alias.name || own.name),
  );
}

interface Parts {
  /** `urn:pulumi:<stack>::<project>`. */
  readonly prefix: string;
  /** Types of all ancestors, each followed by `$`. */
  readonly path: string;
  readonly type: string;
  readonly name: string;
}

function partsOf(urn: string): Parts {
  const [, prefix = "", path = "", type = "", name = ""] =
    /^(urn:pulumi:[^:]+::[^:]+)::((?:[^$]+\$)*)([^$]+?)::(.*)$/.exec(urn) ?? [];
  return { prefix, path, type, name };
}

function urnOf({ prefix }: Parts, parent: string, type: string, name: string): string {
  if (parent === "") return `${prefix}::${type}::${name}`;
  const above = partsOf(parent);
  return `${prefix}::${above.path}${above.type}$${type}::${name}`;
}

/** A child named after its parent was renamed with it: the engine takes the parent's part of the name as former too. */
function formerName(name: string, parent: string, formerParent: string): string {
  const [now, before] = [partsOf(parent).name, partsOf(formerParent).name];
  return now !== "" && name.startsWith(now) ? before + name.slice(now.length) : name;
}

/** The stack itself is nobody's parent in a URN. */
function hasName(parent: string): boolean {
  return parent !== "" && !parent.includes("::pulumi:pulumi:Stack::");
}
