import { defaultLabName, labOfShell, runningLabEnv, startLab } from "./lab.ts";
import { prependedPath } from "./labFolder.ts";
import { resolveToolchain } from "./toolchain.ts";

/**
 * Environment for the Pulumi CLI on a stack: a lab's for the dev stack, the caller's own kubeconfig, backend and login
 * for every other. Where the CLI is not installed, the project's own build of it is used, and with it a PULUMI_HOME that
 * holds the provider, unless the caller has chosen one.
 * @throws Error with the cause and the next command when the lab or the tools cannot be had
 */
export async function stackEnvironment(
  stack: string,
): Promise<Readonly<Record<string, string | undefined>>> {
  const log = (line: string): void => {
    console.error(line);
  };
  if (stack === "dev") return devEnvironment(log);
  const { binFolder, pulumiHome } = await resolveToolchain({ log });
  return {
    PULUMI_HOME: pulumiHome,
    ...process.env,
    PATH: prependedPath([binFolder], process.env.PATH),
  };
}

/**
 * Environment of the lab that the dev stack lives on: the one whose env file the caller's shell has read, which a plain
 * `pulumi` uses too; without one the default lab, which is started if it does not run.
 * @param log progress, and which lab it is where it is not the default one
 * @throws Error with the cause and the next command when the lab cannot be had
 */
export async function devEnvironment(
  log: (line: string) => void,
): Promise<Readonly<Record<string, string>>> {
  const name = (await labOfShell()) ?? defaultLabName;
  if (name === defaultLabName) return (await startLab({ log })).env;
  const env = await runningLabEnv(name, log);
  log(`stack dev: on lab ${name}, whose environment this shell has`);
  return env;
}
