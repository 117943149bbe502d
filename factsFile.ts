import { readFileSync, writeFileSync } from "node:fs";
import type { PreviewFacts } from "./previewFacts.ts";

/**
 * Environment variable of a preview that is reviewed: the file into which the program writes its facts as JSON.
 * `make review` sets it; the report there and the one that the preview prints say the same, since both are made of these.
 */
export const FACTS_FILE = "LLM_SERVING_FACTS_FILE";

/** Hands the facts to a review that asked for them. */
export function handOver(facts: PreviewFacts): void {
  const file = process.env[FACTS_FILE];
  if (file !== undefined && file !== "") writeFileSync(file, JSON.stringify(facts));
}

/** The facts in a file; undefined when the program stopped before it had written them. */
export function factsIn(file: string): PreviewFacts | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as PreviewFacts;
  } catch {
    return undefined;
  }
}
