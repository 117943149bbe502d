import { parse } from "yaml";
import { compared } from "../adopt/difference.ts";
import type { FieldChange } from "./resourceChange.ts";

/**
 * The keys of a stack file that differ between two versions: what somebody edited.
 * @param before text of the file in the version that is compared with; undefined where it did not exist
 * @throws Error when one of them is no YAML
 */
export function stackEdits(before: string | undefined, after: string): readonly FieldChange[] {
  return compared("", configOf(before ?? ""), configOf(after)).map(({ path, live, wanted }) => ({
    path: path.replace(/^\[(.*?)\]/, "$1"),
    before: live,
    after: wanted,
  }));
}

function configOf(text: string): unknown {
  const file = parse(text) as { readonly config?: unknown } | null;
  return file?.config ?? {};
}
