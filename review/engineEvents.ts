import type {
  DiagnosticEvent,
  EngineEvent,
  PolicyEvent,
  StepEventMetadata,
  SummaryEvent,
} from "@pulumi/pulumi/automation/events.js";

/** What a preview did, as the engine itself reported it. */
export interface EnginePreview {
  /** One step for each resource, unchanged ones included, in the order of the engine. */
  readonly steps: readonly StepEventMetadata[];
  /** Errors and warnings as plain text; the engine's own debug lines are left out. */
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  readonly policies: readonly PolicyEvent[];
  /** Version by name of each policy pack that ran. */
  readonly policyPacks: Readonly<Record<string, string>>;
  /** Whether the engine came to its end and found nothing wrong. */
  readonly succeeded: boolean;
}

/** What the CLI writes into the summary and the SDK's type leaves out, or spells otherwise. */
interface Summary extends SummaryEvent {
  readonly result?: string;
  readonly PolicyPacks?: Readonly<Record<string, string>>;
}

/**
 * Reads the CLI's event log, one event of JSON a line. The JSON preview (`--json`) will not do: it has neither policy
 * results nor all errors. An incomplete last line, as of a CLI that was killed, is left out.
 * @param text content of the file of `pulumi preview --event-log`
 */
export function readEngineEvents(text: string): EnginePreview {
  const events = text.split("\n").flatMap(parsed);
  const diagnostics = events.flatMap(({ diagnosticEvent }) => diagnosticEvent ?? []);
  const summary: Summary | undefined = events.findLast((event) => event.summaryEvent)?.summaryEvent;
  // The last one only says that there were others.
  const errors = messagesOf(diagnostics, "error").filter((message) => message !== "preview failed");
  return {
    // Replacements come as three steps, of which the logical one tells what the reader has to know.
    steps: events.flatMap(({ resourcePreEvent }) =>
      resourcePreEvent?.metadata.logical === true ? [withoutNull(resourcePreEvent.metadata)] : [],
    ),
    errors,
    warnings: messagesOf(diagnostics, "warning"),
    policies: events.flatMap(({ policyEvent }) => policyEvent ?? []),
    policyPacks: Object.fromEntries(
      Object.entries(summary?.PolicyPacks ?? {}).map(([name, version]) => [
        withoutPackFolders(name),
        version,
      ]),
    ),
    succeeded: summary?.result === "succeeded" && errors.length === 0,
  };
}

/** A policy pack of a folder is called "name|local|folder"; the folder is of this machine and says nothing to a reader. */
export function withoutPackFolders(text: string): string {
  return text.replaceAll(/\|local\|.*?(?= {2}|$)/gm, "");
}

/** The CLI writes null where the SDK's type says that there is nothing. */
function withoutNull(step: StepEventMetadata): StepEventMetadata {
  const stated = Object.entries(step).filter(([, value]) => value !== null);
  return Object.fromEntries(stated) as unknown as StepEventMetadata;
}

function parsed(line: string): readonly EngineEvent[] {
  try {
    return line === "" ? [] : [JSON.parse(line) as EngineEvent];
  } catch {
    return [];
  }
}

function messagesOf(
  diagnostics: readonly DiagnosticEvent[],
  severity: DiagnosticEvent["severity"],
): readonly string[] {
  const messages = diagnostics
    .filter((diagnostic) => diagnostic.severity === severity && diagnostic.ephemeral !== true)
    .map(({ message }) => plainText(message).trim())
    .filter((message) => message !== "");
  return [...new Set(messages)];
}

/** Without the engine's colour marks (`<{%reset%}>`), which stand in messages whatever `--color` says. */
function plainText(message: string): string {
  return message.replaceAll(/<\{%[^%]*%\}>/g, "");
}
