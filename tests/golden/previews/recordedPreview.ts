import type { EngineEvent } from "@pulumi/pulumi/automation/events.js";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PreviewFacts } from "../../../previewFacts.ts";
import type { FieldChange } from "../../../review/resourceChange.ts";

/** A preview of the real CLI on a lab, kept as a file. */
export interface RecordedPreview {
  /** The CLI's event log, one event of JSON a line. */
  readonly events: string;
  readonly facts: PreviewFacts | undefined;
  readonly printed: string;
  /** What the scenario edited in the stack file. */
  readonly edits: readonly FieldChange[];
  /** What the stack file gave cause to warn of before. */
  readonly baseWarnings: readonly string[];
  /** Files of the program that the scenario edited. */
  readonly changedFiles: readonly string[];
}

const folder = join(import.meta.dirname, "recorded");

/** Reads a recorded preview. */
export function recordedPreview(name: string): RecordedPreview {
  const { events, ...rest } = JSON.parse(
    readFileSync(join(folder, `${name}.json`), "utf8"),
  ) as Omit<RecordedPreview, "events"> & { readonly events: readonly unknown[] };
  return { ...rest, events: events.map((event) => JSON.stringify(event)).join("\n") };
}

/**
 * Keeps a preview without what no report reads: debug lines, outputs of the cluster, and inputs of what does not change.
 * @param places texts of this machine, each with what stands for it
 */
export function keepPreview(
  name: string,
  preview: RecordedPreview,
  places: Readonly<Record<string, string>>,
): void {
  const events = preview.events
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => slim(JSON.parse(line) as EngineEvent))
    .filter((event) => event !== undefined);
  const text = JSON.stringify({ ...preview, events }, null, 1);
  const general = Object.entries(places).reduce(
    (rest, [place, name]) => rest.replaceAll(place, name),
    text.replaceAll(/https:\/\/127\.0\.0\.1:\d+/g, "https://127.0.0.1:6443"),
  );
  writeFileSync(join(folder, `${name}.json`), `${general}\n`);
}

function slim(event: EngineEvent): EngineEvent | undefined {
  const { diagnosticEvent, resourcePreEvent } = event;
  if (diagnosticEvent) {
    return (diagnosticEvent.severity as string) === "debug" ? undefined : event;
  }
  if (resourcePreEvent === undefined) {
    return (event.summaryEvent ?? event.policyEvent) ? event : undefined;
  }
  const { metadata } = resourcePreEvent;
  const bare = metadata.op === "same" && metadata.type.startsWith("kubernetes:");
  const side = (state: typeof metadata.old) =>
    state && { ...state, outputs: {}, ...(bare ? { inputs: {} } : {}) };
  return {
    ...event,
    resourcePreEvent: {
      ...resourcePreEvent,
      metadata: {
        ...metadata,
        ...(metadata.old ? { old: side(metadata.old) } : {}),
        ...(metadata.new ? { new: side(metadata.new) } : {}),
      },
    },
  };
}
