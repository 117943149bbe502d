import { CODER_PREDICTOR, NAMESPACE } from "../components/names.ts";
import type { EnginePreview } from "./engineEvents.ts";
import type { DroppedGuard, ResourceChange } from "./resourceChange.ts";

/** What becomes of Service coder-predictor. */
export type CoderService =
  "unchanged" | "updated in place" | "created" | "adopted" | "not known" | "BLOCKED";

/** Why coder-predictor, or the namespace around it, would not survive: for a stack that runs already. */
export function serviceBlockers(
  engine: EnginePreview,
  changes: readonly ResourceChange[],
  dropped: readonly DroppedGuard[],
): readonly string[] {
  const live = engine.steps.some(({ type, old }) => type.startsWith("kubernetes:") && old);
  const lost = changes
    .filter(({ kind, name }) => isPrecious(kind, name))
    .filter(({ operation }) => ["delete", "replace", "create"].includes(operation))
    .filter(({ operation }) => live || operation !== "create")
    .map(({ operation, kind, name, replacedFor }) => {
      const why = replacedFor.length === 0 ? "" : ` for ${replacedFor.join(", ")}`;
      const means =
        operation === "create"
          ? "the stack runs and does not have it: its clients' address is gone already, see docs/recover.md"
          : "its clients would lose the ClusterIP that they hold (only updates in place are allowed)";
      return `${kind} ${name} would be ${pastOf[operation]}${why}: ${means}`;
    });
  const unguarded = dropped
    .filter(({ kind, name }) => isPrecious(kind, name))
    .map(
      ({ kind, name, guard }) =>
        `${kind} ${name} would lose \`${guard}\`: the next edit could then delete it; restore it in components/guards.ts`,
    );
  return [...lost, ...unguarded];
}

const pastOf: Readonly<Record<string, string>> = {
  delete: "deleted",
  replace: "replaced",
  create: "created anew",
};

/** The Service, and the namespace whose end would be its end. */
function isPrecious(kind: string, name: string): boolean {
  return (
    (kind === "Service" && name === CODER_PREDICTOR) || (kind === "Namespace" && name === NAMESPACE)
  );
}

/** What becomes of the Service in a preview that does not endanger it. */
export function coderServiceState(
  { steps }: EnginePreview,
  changes: readonly ResourceChange[],
): CoderService {
  const change = changes.find(({ kind, name }) => kind === "Service" && name === CODER_PREDICTOR);
  if (change === undefined) {
    const seen = steps.some(({ urn }) => urn.endsWith(`core/v1:Service::${CODER_PREDICTOR}`));
    return seen ? "unchanged" : "not known";
  }
  if (change.operation === "create") return "created";
  return change.operation === "adopt" ? "adopted" : "updated in place";
}
