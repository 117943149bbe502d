import { parseStackConfig } from "../config/parse.ts";
import { ConfigError } from "../config/problems.ts";
import { stackFile } from "../config/stackFile.ts";
import { ownValues } from "../config/stackText.ts";
import { configWarnings } from "../previewFacts.ts";
import { planStack } from "../stackPlan.ts";

/**
 * What the configuration of a stack file gives cause to warn of, in the words of its preview.
 * @param text of the file
 * @returns nothing for a file that the program refuses
 * @throws {StackFileError} when it is no YAML
 */
export function warningsOfFile(text: string, stack: string): readonly string[] {
  try {
    const config = parseStackConfig(ownValues(text, stackFile(stack)), stack);
    return configWarnings(config, planStack(config));
  } catch (error) {
    if (error instanceof ConfigError) return [];
    throw error;
  }
}
