import { stringify } from "yaml";
import { completed, stackFile } from "../support/program.ts";

type Section = Readonly<Record<string, unknown>>;

/**
 * Text of prod's stack file with images and with edits, section by section: `{clefServe: {replicas: 0}}`. A list
 * replaces a section.
 */
export function stackWith(edits: Readonly<Record<string, Section | readonly Section[]>>): string {
  const config: Record<string, unknown> = completed(stackFile("prod"));
  for (const [name, edit] of Object.entries(edits)) {
    const key = `llm-serving:${name}`;
    config[key] = isList(edit) ? edit : { ...(config[key] as Section | undefined), ...edit };
  }
  return stringify({ config });
}

function isList(edit: Section | readonly Section[]): edit is readonly Section[] {
  return Array.isArray(edit);
}
