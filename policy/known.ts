import type { ReportViolation } from "@pulumi/policy";

/**
 * Makes a value that is not known in a preview a violation like any other. The SDK would downgrade the whole policy to
 * advisory for it: one Output in a guarded field would switch the guard off.
 */
export function known<Args>(
  validate: (args: Args, report: ReportViolation) => void,
): (args: Args, report: ReportViolation) => void {
  return (args, report) => {
    try {
      validate(args, report);
    } catch (error) {
      if (!isUnknownValue(error)) throw error;
      report(
        `${error.message}, so that this rule cannot be judged (a literal); state the value itself, not an Output`,
      );
    }
  };
}

/** The SDK's own class of this error is internal; its field is what tells it from others. */
function isUnknownValue(error: unknown): error is Error {
  return error instanceof Error && "unknownTypeSentinel" in error;
}
