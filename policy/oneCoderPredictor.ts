import type { StackValidationPolicy } from "@pulumi/policy";
import { known } from "./known.ts";
import type { Manifest } from "./manifest.ts";

const NAME = "coder-predictor";
const NAMESPACE = "llm-serving";

/**
 * The stack has one Service coder-predictor in its namespace. None: the next `up` deletes it. Two: they overwrite each
 * other. It must be of type ClusterIP and not headless, since clients hold its address.
 */
export const oneCoderPredictor: StackValidationPolicy = {
  name: "one-coder-predictor",
  description: "There is exactly one Service coder-predictor in namespace llm-serving.",
  validateStack: known(({ resources }, report) => {
    const found = resources.filter(({ type, props }) => {
      if (type !== "kubernetes:core/v1:Service") return false;
      const { metadata }: Manifest = props;
      return metadata?.name === NAME && metadata.namespace === NAMESPACE;
    });
    if (found.length === 1) return;
    const names = found.map(({ name }) => name).join(", ");
    report(
      `Service ${NAMESPACE}/${NAME}: the stack has ${found.length} of it${names === "" ? "" : ` (${names})`} (exactly 1); ` +
        "undo the edit that renames, removes or doubles it",
    );
  }),
};
