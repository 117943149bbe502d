import { isDeepStrictEqual } from "node:util";
import { isOurs, type ManagedFields, PUT_BACK } from "./byHand.ts";
import { coderServiceSpec } from "../components/coderPredictor.ts";
import { CODER_PREDICTOR, NAMESPACE } from "../components/names.ts";
import type { CoderServiceConfig } from "../config.ts";

/** Spec of the live Service coder-predictor, or that there is none. */
export type LiveCoderService =
  | {
      readonly spec?: unknown;
      readonly metadata?: { readonly managedFields?: readonly ManagedFields[] };
    }
  | "absent";

/**
 * Where the live coder-predictor is not what the program says, one line each. A plain preview compares with the state:
 * what hands did it does not show, and the `up` after it does not put it back. After a refresh the preview stops at the
 * field manager of the hand (seen: kubectl-patch), which a real update alone takes over: hence --skip-preview.
 */
export function coderServiceWarnings(
  live: LiveCoderService,
  { backend }: CoderServiceConfig,
): string[] {
  const title = `Service ${NAMESPACE}/${CODER_PREDICTOR}`;
  if (live === "absent") {
    return [
      `${title} does not exist: poimen-memory cannot connect; \`pulumi up --refresh\` creates it on a new ClusterIP, ` +
        "docs/recover.md on the old one",
    ];
  }
  const found = (live.spec ?? {}) as Readonly<Record<string, unknown>>;
  // The selector changes in every handoff: coderServiceDrift tells of it, since it knows who set it.
  const constant = Object.entries(coderServiceSpec(backend)).filter(([key]) => key !== "selector");
  return constant.flatMap(([field, wanted]) => {
    const value = field === "ports" ? portsOf(found[field]) : found[field];
    if (isDeepStrictEqual(plain(value), plain(wanted))) return [];
    return [
      `${title}: spec.${field} is ${text(value)} in the cluster, the program says ${text(wanted)}; where this ` +
        "preview plans no change of it, a hand did that, and only `pulumi up --refresh --skip-preview` puts it back",
    ];
  });
}

/** That the live coder-predictor selects pods by a hand's choice, or nothing. */
export function coderServiceDrift(
  live: LiveCoderService | undefined,
  { backend }: CoderServiceConfig,
): string[] {
  if (live === undefined || live === "absent") return [];
  const { selector } = (live.spec ?? {}) as { readonly selector?: unknown };
  const wanted = coderServiceSpec(backend).selector;
  if (isDeepStrictEqual(plain(selector), plain(wanted))) return [];
  if (isOurs(live.metadata?.managedFields ?? [], "selector")) return [];
  return [
    `Service ${NAMESPACE}/${CODER_PREDICTOR}: spec.selector is ${text(selector)} in the cluster, by a hand, and ` +
      `${text(wanted)} in the stack; ${PUT_BACK}`,
  ];
}

/** Ports without a nodePort of 0 and the like: what the program states, in its order of fields. */
function portsOf(ports: unknown): unknown {
  if (!Array.isArray(ports)) return ports;
  return (ports as readonly Readonly<Record<string, unknown>>[]).map(
    ({ name, protocol, port, targetPort }) => ({ name, protocol, port, targetPort }),
  );
}

function plain(value: unknown): unknown {
  return JSON.parse(text(value));
}

function text(value: unknown): string {
  return JSON.stringify(value ?? null);
}

/** The workload that the live Service selects; undefined where there is no Service, or it selects by no label `app`. */
export function selectedBackend(live: LiveCoderService | undefined): string | undefined {
  if (live === undefined || live === "absent") return undefined;
  const { selector } = (live.spec ?? {}) as {
    readonly selector?: Readonly<Record<string, string>>;
  };
  return selector?.app;
}
