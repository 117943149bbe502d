import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Packages small enough to be installed in a second, from a folder instead of an index. */
export interface Wheels {
  /** Lock file with hashes. */
  readonly requirements: string;
  /** Environment for pip: this folder alone, no index, nobody's configuration. */
  readonly env: Readonly<Record<string, string>>;
}

/** Modules of each package: enough of them that a kill finds pip at work. */
const MODULES = 60;

/**
 * Writes pure Python wheels `small_a` ... with many modules, and their lock file.
 * @param folder an empty one of the caller's own
 */
export function writeWheels(folder: string, names: readonly string[]): Wheels {
  const wheels = join(folder, "wheels");
  mkdirSync(wheels);
  const lines = names.map((name) => {
    const file = join(wheels, `${name}-1.0-py3-none-any.whl`);
    execFileSync("python3", ["-c", WRITE_WHEEL, file, name, String(MODULES)]);
    const hash = createHash("sha256").update(readFileSync(file)).digest("hex");
    return `${name}==1.0 --hash=sha256:${hash}\n`;
  });
  const requirements = join(folder, "requirements.txt");
  writeFileSync(requirements, lines.join(""));
  return {
    requirements,
    env: { PIP_CONFIG_FILE: "/dev/null", PIP_NO_INDEX: "1", PIP_FIND_LINKS: wheels },
  };
}

const WRITE_WHEEL = `
import sys, zipfile
path, name, modules = sys.argv[1], sys.argv[2], int(sys.argv[3])
info = f"{name}-1.0.dist-info"
files = {f"{name}/m{i}.py": f"VALUE = {i}\\n" * 50 for i in range(modules)}
files[f"{name}/__init__.py"] = f"NAME = '{name}'\\n"
files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n"
files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
files[f"{info}/RECORD"] = "".join(f"{each},,\\n" for each in [*files, f"{info}/RECORD"])
with zipfile.ZipFile(path, "w") as wheel:
    for each, content in files.items():
        wheel.writestr(each, content)
`;
