import { isDeepStrictEqual } from "node:util";
import type { KubernetesObject } from "./kubernetesObject.ts";

/** One field that adoption changes; an absent side is undefined. */
export interface Difference {
  /** As in `spec.template.spec.containers[server].env[HOME].value`. */
  readonly path: string;
  readonly live: unknown;
  readonly wanted: unknown;
}

/** Counted by the Deployment controller, never by a person. */
const REVISION = "deployment.kubernetes.io/revision";

/** Fields that may name a list's items, the first that does wins; volumeMounts repeat their `name`. */
const itemKeys = ["mountPath", "name", "containerPort", "port", "key"];

type Fields = Readonly<Record<string, unknown>>;

/** What a person can state of an object: everything but status and what the server fills in. */
export function stated(object: KubernetesObject): Fields {
  const { labels, annotations, finalizers, ownerReferences } = object.metadata;
  const fields = Object.entries(object).filter(([key]) => !["metadata", "status"].includes(key));
  const counted = Object.entries(annotations ?? {}).filter(([key]) => key !== REVISION);
  return {
    ...Object.fromEntries(fields),
    metadata: {
      labels: labels ?? {},
      annotations: Object.fromEntries(counted),
      finalizers: finalizers ?? [],
      ownerReferences: ownerReferences ?? [],
    },
  };
}

/** Each field in which two objects differ, in the order of the paths. Both must carry the server's defaults. */
export function differences(live: KubernetesObject, wanted: KubernetesObject): Difference[] {
  return compared("", stated(live), stated(wanted)).sort((a, b) => a.path.localeCompare(b.path));
}

/**
 * Each field in which two values differ, in the order of their keys; list items are told apart by name where they have
 * one.
 * @param path where the values stand, "" at the top
 */
export function compared(path: string, live: unknown, wanted: unknown): Difference[] {
  if (isDeepStrictEqual(live, wanted)) return [];
  if (isFields(live) && isFields(wanted)) return comparedFields(path, live, wanted, field);
  if (Array.isArray(live) && Array.isArray(wanted)) return comparedLists(path, live, wanted);
  return [{ path, live, wanted }];
}

function comparedFields(
  path: string,
  live: Fields,
  wanted: Fields,
  step: (path: string, key: string) => string,
): Difference[] {
  const keys = new Set([...Object.keys(live), ...Object.keys(wanted)]);
  return [...keys].flatMap((key) => compared(step(path, key), live[key], wanted[key]));
}

function comparedLists(
  path: string,
  live: readonly unknown[],
  wanted: readonly unknown[],
): Difference[] {
  const key = itemKeys.find((each) => names(live, each) && names(wanted, each));
  if (key === undefined) return [{ path, live, wanted }];
  const [left, right] = [byKey(live, key), byKey(wanted, key)];
  const found = comparedFields(path, left, right, item);
  // Equal items in another order are another pod template all the same.
  const order = [live, wanted].map((items) => items.map((each) => (each as Fields)[key]));
  return found.length > 0 ? found : [{ path, live: order[0], wanted: order[1] }];
}

function names(items: readonly unknown[], key: string): boolean {
  const values = items.map((each) => (isFields(each) ? each[key] : undefined));
  return values.every((value) => isName(value)) && new Set(values).size === items.length;
}

function isName(value: unknown): boolean {
  return typeof value === "string" || typeof value === "number";
}

/** A Map would keep numbers apart from texts; the order of the items is looked at separately. */
function byKey(items: readonly unknown[], key: string): Fields {
  return Object.fromEntries(items.map((each) => [String((each as Fields)[key]), each]));
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const item = (path: string, key: string): string => `${path}[${key}]`;

/** Keys of labels and annotations hold dots and slashes, so that they stand in brackets. */
function field(path: string, key: string): string {
  if (/[./]/.test(key) || /\.(labels|annotations|matchLabels|selector)$/.test(path)) {
    return item(path, key);
  }
  return path === "" ? key : `${path}.${key}`;
}
