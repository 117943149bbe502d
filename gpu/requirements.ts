/** What must hold for the locked packages of clef-serve: each one pinned with hashes, torch with kernels for V100. */

/**
 * The last CUDA version whose torch wheels are sure to have kernels for V100 (sm_70).
 * @see field notes: later wheels drop Volta, all of them from torch 2.11 on
 */
const LAST_CUDA = "12.6";

/** The last torch whose wheel on the ordinary index is built for CUDA 12.6 (its own metadata ask for that runtime). */
const LAST_ORDINARY_TORCH = "2.7";

/** One logical line of a requirements file: a package, or an option of pip. */
interface Line {
  /** Where it begins, from 1. */
  readonly number: number;
  /** Without comments and continuations, one blank between its words. */
  readonly text: string;
}

const PINNED = /^([\w.-]+)(?:\[[^\]]*\])?\s*===?\s*([\w.+!-]+)(?![\w.*])/;
const HASHED = /\s--hash=sha(256:[0-9a-f]{64}|384:[0-9a-f]{96}|512:[0-9a-f]{128})(?=\s|$)/;

/**
 * Why pip must not install from a lock file. Pure. What the model needs is its owner's to know: a lock without torch
 * is as good as any.
 * @param text the file's content; undefined when there is no such file
 * @param file its path, for the messages
 * @returns one line for each line of the file that is wrong, or one for a file that names nothing; empty when all is well
 */
export function requirementProblems(text: string | undefined, file: string): readonly string[] {
  const lines = linesOf(text ?? "");
  if (lines.length === 0) {
    const what =
      text === undefined ? "(missing): there is no such file" : "(empty): names no package";
    return [`${file} = ${what} (name==version with hashes, a line each); ${LOCK_ANEW}`];
  }
  return lines.flatMap((line) => {
    const found = problemOf(line.text);
    if (found === undefined) return [];
    const shown = line.text.replace(/\s--hash=.*/, "");
    return [`${file}:${line.number} = ${shown}: ${found}`];
  });
}

function linesOf(text: string): readonly Line[] {
  const lines: Line[] = [];
  let continued = "";
  let begin = 1;
  for (const [at, raw] of text.split(/\r?\n/).entries()) {
    if (continued === "") begin = at + 1;
    const line = raw.replace(/(^|\s)#.*/, "").trimEnd();
    if (line.endsWith("\\")) {
      continued += `${line.slice(0, -1)} `;
      continue;
    }
    const whole = words(continued + line);
    continued = "";
    if (whole !== "") lines.push({ number: begin, text: whole });
  }
  // A continuation that nothing follows.
  return words(continued) === "" ? lines : [...lines, { number: begin, text: words(continued) }];
}

function words(text: string): string {
  return text.trim().replace(/\s+/g, " ");
}

function problemOf(line: string): string | undefined {
  if (line.startsWith("-")) {
    return (
      "an option of pip has no place in the lock (packages alone); remove it, and name an index through " +
      "llm-serving:clefServe.env as PIP_INDEX_URL or PIP_EXTRA_INDEX_URL"
    );
  }
  const [, written = line, version] = PINNED.exec(line) ?? [];
  const name = written.toLowerCase().replace(/[-_.]+/g, "-");
  if (version === undefined) {
    const why = /^torch\b/.test(name) ? ", and the newest torch has no kernels for V100" : "";
    return `not pinned to one version${why} (name==version); ${LOCK_AGAIN}`;
  }
  return (
    cudaProblem(name, version) ??
    (HASHED.test(line)
      ? undefined
      : `has no hash, so that pip would take any file of that name (--hash=sha256:<64 hex>); ${LOCK_AGAIN}`)
  );
}

const LOCK_AGAIN = "lock requirements.in again by the command at the top of this file";

/** For a file that has lost the command at its top. */
const LOCK_ANEW =
  "bring it back from version control, or lock requirements.in beside it as docs/cold-start.md says under The lock";

/** Whether torch, or the CUDA runtime that its wheel asked for when it was locked, is too new for V100. */
function cudaProblem(name: string, version: string): string | undefined {
  const [release = "", build] = version.split("+");
  if (name === "torch" && build !== undefined) {
    const [, major, minor] = /^cu(\d+)(\d)$/.exec(build) ?? [];
    if (major === undefined || minor === undefined)
      return noKernels(`build ${build} is not for CUDA`);
    const cuda = `${major}.${minor}`;
    return isAfter(cuda, LAST_CUDA) ? noKernels(`built for CUDA ${cuda}`) : undefined;
  }
  if (name === "torch" && isAfter(release, LAST_ORDINARY_TORCH)) {
    return noKernels(`its ordinary wheel is built for a CUDA after ${LAST_CUDA}`);
  }
  if (/^nvidia-cuda-runtime(-cu\d+)?$/.test(name) && isAfter(release, LAST_CUDA)) {
    return noKernels(`the locked torch is built for CUDA ${release}`);
  }
  return undefined;
}

function noKernels(what: string): string {
  return (
    `${what}, and such wheels have no kernels for V100 (sm_70) (torch up to 2.7 from the ordinary index, or ` +
    `torch==X+cu126); correct it and ${LOCK_AGAIN}`
  );
}

/** Whether a version such as 2.11.0 is of a later minor release than another, such as 2.7. */
function isAfter(version: string, last: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [lastMajor = 0, lastMinor = 0] = last.split(".").map(Number);
  return major > lastMajor || (major === lastMajor && minor > lastMinor);
}
