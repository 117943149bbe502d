/** The commands of clef-serve's containers; the bench runs the same ones. */

/**
 * The command of a pod that installs at each start.
 * @param boot folder of the boot files
 * @param target where pip installs to
 */
export function installCommand(boot: string, target: string): [string, string, string] {
  // exec: the server becomes PID 1 and gets SIGTERM itself.
  const script =
    `pip install --no-cache-dir --target ${target} -r ${boot}/requirements.txt ` +
    `&& exec python ${boot}/server.py`;
  return ["/bin/sh", "-c", script];
}

/**
 * The command of the Job that fills a folder of packages.
 * @param boot folder of the boot files
 * @param volume where the volume of the packages is mounted
 */
export function fillCommand(boot: string, volume: string, folder: string): string[] {
  return ["python", `${boot}/packages.py`, "fill", volume, folder, `${boot}/requirements.txt`];
}

/**
 * The command of a pod that starts from a filled folder: it holds the folder against the next Job's cleaning, then
 * becomes the server, so that PID 1 gets SIGTERM itself. Parameters as for {@link fillCommand}.
 */
export function runCommand(boot: string, volume: string, folder: string): string[] {
  return ["python", `${boot}/packages.py`, "run", volume, folder, `${boot}/server.py`];
}
