/**
 * Writes `stack.schema.json`, by which editors complete and check `Pulumi.<stack>.yaml`; with
 * `--check` only compares it.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as prettier from "prettier";
import { stackFileSchema } from "./stackFileSchema.ts";

const file = fileURLToPath(new URL("stack.schema.json", import.meta.url));
const options = await prettier.resolveConfig(file);
const wanted = await prettier.format(JSON.stringify(stackFileSchema()), {
  ...options,
  parser: "json",
});

if (!process.argv.includes("--check")) {
  writeFileSync(file, wanted);
} else if (readFileSync(file, "utf8") !== wanted) {
  console.error(
    "schema/stack.schema.json does not match config/schema.ts; run: node schema/generate.ts",
  );
  process.exitCode = 1;
}
