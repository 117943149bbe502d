import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LabRegistry, startRegistry } from "../../lab/registry.ts";

/**
 * Starts a registry behind a proxy before the tests of the enclosing `describe`, and stops it after them, also when
 * another hook has failed.
 * @param limitMiB the proxy's limit
 * @returns the registry, for use inside tests
 */
export function useRegistry(limitMiB: number): () => LabRegistry {
  let registry: LabRegistry | undefined;
  const folder = mkdtempSync(join(tmpdir(), "llm-serving-registry-"));
  before(async function () {
    this.timeout(300_000); // The first run builds it.
    registry = await startRegistry({ folder, limitMiB });
  });
  after(async () => {
    await registry?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return () => {
    if (registry === undefined) throw new Error("the registry is used before it runs");
    return registry;
  };
}
