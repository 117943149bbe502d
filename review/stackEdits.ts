import { compared } from "../adopt/difference.ts";
import { stackValues } from "../config/stackText.ts";
import type { FieldChange } from "./resourceChange.ts";

/**
 * The keys of a stack file that differ between two versions: what somebody edited.
 * @param before text of the file in the version that is compared with; undefined where it did not exist
 * @param file for messages, such as `Pulumi.prod.yaml`
 * @throws {StackFileError} when one of them is no YAML
 */
export function stackEdits(
  before: string | undefined,
  after: string,
  file: string,
): readonly FieldChange[] {
  const [then, now] = [stackValues(before ?? "", `${file} of BASE`), stackValues(after, file)];
  return compared("", then, now).map(({ path, live, wanted }) => ({
    path: path.replace(/^\[(.*?)\]/, "$1"),
    before: live,
    after: wanted,
  }));
}
