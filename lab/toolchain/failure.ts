/** A tool could not be had. The message names the cause, the log and the next command. */
export class ToolchainError extends Error {
  override readonly name = "ToolchainError";
}

/** What went wrong, and what to do about it before running again. */
export interface Diagnosis {
  readonly cause: string;
  readonly fix: string;
}

/** Free space that a build from nothing takes: modules 4 GB, build cache 10 GB, binaries 1 GB. */
const spaceNeededGB = 15;

const noSpace = /no space left on device|ENOSPC|disk quota exceeded|EDQUOT/i;
const noNetwork =
  /dial (?:tcp|udp)|lookup \S+.*(?:no such host|server misbehaving|failure in name resolution)|i\/o timeout|TLS handshake timeout|proxyconnect|network is unreachable|Client\.Timeout|connection re(?:fused|set)|module lookup disabled by GOPROXY=off|: 50[234] /i;
const killed = /signal: killed|cannot allocate memory|out of memory/i;

/** The last line of a tool's output that says something about a failure, shortened to 300 characters. */
function lastWords(output: string): string {
  const lines = output.split("\n").map((line) => line.trim());
  const telling = lines.filter(
    (line) => /[:.]\s/.test(line) && !line.startsWith("go: downloading"),
  );
  return (telling.at(-1) ?? lines.findLast((line) => line !== "") ?? "no output").slice(0, 300);
}

function lineWith(pattern: RegExp, output: string): string {
  return (
    output
      .split("\n")
      .find((line) => pattern.test(line))
      ?.trim()
      .slice(0, 300) ?? ""
  );
}

/** Reads the cause of a failed build out of what `go`, the compiler or the file system said. */
export function diagnose(output: string): Diagnosis {
  // A full disk comes first: it also makes downloads fail.
  if (noSpace.test(output)) {
    return {
      cause: `the disk is full: ${lineWith(noSpace, output)}`,
      fix:
        `free some space (a build from nothing takes about ${spaceNeededGB} GB in all; ` +
        "`go env GOCACHE GOMODCACHE` and XDG_CACHE_HOME say where)",
    };
  }
  if (noNetwork.test(output)) {
    return {
      cause: `no network: the Go modules could not be downloaded: ${lineWith(noNetwork, output)}`,
      fix: "check the connection, HTTPS_PROXY and `go env GOPROXY`",
    };
  }
  if (killed.test(output)) {
    return {
      cause: `the compiler was killed: ${lineWith(killed, output)}`,
      fix: "give the machine more memory (4 GiB free are enough) or stop other programs",
    };
  }
  return { cause: lastWords(output), fix: "read the log for the cause" };
}

/** Whether an error comes from the operating system with this code, such as ENOENT. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

/**
 * Why a file or folder in the cache could not be written.
 * @throws the error itself when it does not come from the operating system: then it is a bug
 */
export function diagnoseWrite(error: unknown, root: string): Diagnosis {
  if (!(error instanceof Error) || !("errno" in error)) throw error;
  if (noSpace.test(error.message)) return diagnose(error.message);
  return {
    cause: `the cache ${root} cannot be written: ${error.message}`,
    fix: "make it writable, or set XDG_CACHE_HOME to a folder that is",
  };
}
