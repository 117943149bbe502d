import { startLab } from "./lab.ts";
import { prependedPath } from "./labFolder.ts";
import { resolveToolchain } from "./toolchain.ts";

/**
 * Environment for the Pulumi CLI on a stack. The dev stack lives on the lab, which is started if it does not run;
 * every other stack uses the caller's own kubeconfig, backend and login. Where the CLI is not installed, the project's
 * own build of it is used, and with it a PULUMI_HOME that holds the provider, unless the caller has chosen one.
 * @throws Error with the cause and the next command when the lab or the tools cannot be had
 */
export async function stackEnvironment(
  stack: string,
): Promise<Readonly<Record<string, string | undefined>>> {
  const log = (line: string): void => {
    console.error(line);
  };
  if (stack === "dev") return (await startLab({ log })).env;
  const { binFolder, pulumiHome } = await resolveToolchain({ log });
  return {
    PULUMI_HOME: pulumiHome,
    ...process.env,
    PATH: prependedPath([binFolder], process.env.PATH),
  };
}
