import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** Version of the Pulumi CLI on PATH, such as "3.274.1"; "unknown" where it does not say. */
export async function cliVersion(): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)("pulumi", ["version"]);
    return stdout.trim().replace(/^v/, "");
  } catch {
    return "unknown";
  }
}
