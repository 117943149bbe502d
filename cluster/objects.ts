import { NAMESPACE, STACK_ANNOTATION, TEMPLATE_ANNOTATION } from "../components/names.ts";
import type { LiveObject, ObjectName } from "./facts.ts";

/** Made by the control plane in every namespace. */
const BUILT_IN = ["ConfigMap/kube-root-ca.crt"];

/** Most names that one warning lists. */
const MAX_NAMES = 12;

/**
 * Objects that this program must not touch as they are: those with a name that it wants and that it does
 * not own, and own ones that garbage collection would delete past every guard.
 * @param wanted what the program creates
 */
export function objectProblems(
  objects: readonly LiveObject[],
  wanted: readonly ObjectName[],
  stack: string,
): readonly string[] {
  const names = new Set(wanted.map(idOf));
  return objects.flatMap((object) => {
    const owner = object.metadata.annotations?.[STACK_ANNOTATION];
    const name = describe(object);
    const collected = ownersOf(object);
    if (owner === stack) {
      return collected === undefined
        ? []
        : [`${name}: ${collected.wrong}; remove the owner alone: ${collected.remedy}`];
    }
    if (!names.has(idOf(nameOf(object)))) return [];
    if (owner !== undefined) {
      return [
        `${name}: belongs to stack ${owner} by its annotation ${STACK_ANNOTATION} (only ${stack}'s own are changed here); use \`--stack ${owner}\`, or another cluster for ${stack}`,
      ];
    }
    const first = collected === undefined ? "" : `, and ${collected.wrong}`;
    return [
      `${name}: exists already and no stack owns it${first} (annotation ${STACK_ANNOTATION} is absent); ` +
        `${collected === undefined ? "" : `remove the owner alone: ${collected.remedy}, then `}adopt it first: \`make adopt-plan STACK=${stack}\``,
    ];
  });
}

/**
 * Objects of the namespace that this stack neither owns nor refers to nor wants: "ConfigMap notes".
 * @param known what the program creates or refers to
 */
export function strangersOf(
  objects: readonly LiveObject[],
  known: readonly ObjectName[],
  stack: string,
): readonly string[] {
  const names = new Set([...known.map(idOf), ...BUILT_IN]);
  const strangers = objects.filter(
    ({ kind, metadata }) =>
      kind !== "Namespace" &&
      metadata.annotations?.[STACK_ANNOTATION] !== stack &&
      !names.has(idOf(nameOf({ kind, metadata }))) &&
      !(metadata.ownerReferences ?? []).some(({ controller }) => controller === true),
  );
  return strangers.map(({ kind, metadata }) => {
    const owner = metadata.annotations?.[STACK_ANNOTATION];
    return `${kind} ${metadata.name ?? ""}${owner === undefined ? "" : ` (of stack ${owner})`}`;
  });
}

/** {@link strangersOf} as one warning, or none. */
export function strangerWarnings(strangers: readonly string[]): readonly string[] {
  if (strangers.length === 0) return [];
  const listed = strangers.slice(0, MAX_NAMES);
  const more = strangers.length > MAX_NAMES ? ` and ${strangers.length - MAX_NAMES} more` : "";
  return [`in namespace ${NAMESPACE}, but not of this stack: ${listed.join(", ")}${more}`];
}

/** Fingerprint of the pod template by Deployment, where the program wrote one. */
export function templatesOf(objects: readonly LiveObject[]): ReadonlyMap<string, string> {
  return new Map(
    objects.flatMap(({ kind, metadata: { name = "", annotations } }) => {
      const template = kind === "Deployment" ? annotations?.[TEMPLATE_ANNOTATION] : undefined;
      return template === undefined ? [] : [[name, template]];
    }),
  );
}

/** Why an object with ownerReferences is not safe, and how it loses them. */
function ownersOf({ metadata }: LiveObject): { wrong: string; remedy: string } | undefined {
  const owners = (metadata.ownerReferences ?? []).map(({ kind, name }) => `${kind}/${name}`);
  if (owners.length === 0) return undefined;
  return {
    wrong: `it has ownerReferences (${owners.join(", ")}), so that garbage collection deletes it with its owner, past every guard`,
    remedy: owners
      .map((owner) => `\`kubectl --namespace ${NAMESPACE} delete ${owner} --cascade=orphan\``)
      .join(" and "),
  };
}

function describe({ kind, metadata }: LiveObject): string {
  return kind === "Namespace"
    ? `Namespace ${NAMESPACE}`
    : `${kind} ${NAMESPACE}/${metadata.name ?? ""}`;
}

function nameOf({ kind, metadata }: LiveObject): ObjectName {
  return { kind, name: metadata.name ?? "" };
}

function idOf({ kind, name }: ObjectName): string {
  return `${kind}/${name}`;
}
