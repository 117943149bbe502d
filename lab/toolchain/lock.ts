import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hasCode } from "./failure.ts";

/** Who holds the lock, as its file says. */
export interface Owner {
  readonly pid: number;
  readonly host: string;
  /** What the owner does now, such as "builds kube-apiserver". */
  readonly doing: string;
}

/** A lock that this process holds. */
export interface Lock {
  /** Tells those who wait what this process does now. */
  describe(doing: string): void;
  release(): void;
}

/** Timing of a lock, in milliseconds. */
export interface LockTiming {
  /** Between two looks at a lock that another process holds. */
  readonly pollMs: number;
  /** Between two signs of life of the owner. */
  readonly beatMs: number;
  /** Without a sign of life for this long, the owner counts as gone. Many times `beatMs`. */
  readonly staleMs: number;
}

const defaultTiming: LockTiming = { pollMs: 500, beatMs: 5000, staleMs: 60_000 };

/** Whether a process of this machine lives. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it lives and belongs to another user.
    return !hasCode(error, "ESRCH");
  }
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

function parse(content: string): Owner | undefined {
  try {
    return JSON.parse(content) as Owner;
  } catch {
    // Just created and not yet written.
    return undefined;
  }
}

function tryCreate(file: string, content: string): boolean {
  try {
    writeFileSync(file, content, { flag: "wx" });
    return true;
  } catch (error) {
    if (hasCode(error, "EEXIST")) return false;
    // Created, but the disk is too full for its content.
    if (!hasCode(error, "EACCES")) rmSync(file, { force: true });
    throw error;
  }
}

/**
 * Takes the lock, and waits for as long as a living process holds it. A lock is taken over when its
 * owner's process on this machine is gone, or when it shows no sign of life (a reused process id, an
 * owner on another machine that shares the cache). It saves work rather than guarding files: every
 * result is renamed into place complete, so even two owners at once would do no harm.
 * @param onWait called at each look while another process holds the lock
 * @throws what the file system throws when the lock's folder cannot be written
 */
export async function acquireLock(
  file: string,
  doing: string,
  onWait: (owner: Owner | undefined) => void,
  timing: LockTiming = defaultTiming,
): Promise<Lock> {
  const owner = { pid: process.pid, host: hostname() };
  let beat = 0;
  let mine = JSON.stringify({ ...owner, doing, beat });
  mkdirSync(dirname(file), { recursive: true });

  let seen = "";
  let seenAt = performance.now();
  while (!tryCreate(file, mine)) {
    const content = read(file);
    if (content === undefined) continue;
    if (content !== seen) {
      seen = content;
      seenAt = performance.now();
    }
    const other = parse(content);
    const isGone = other?.host === owner.host && !isAlive(other.pid);
    if (isGone || performance.now() - seenAt > timing.staleMs) {
      // A rename, so that of several who saw the stale lock only one removes it.
      const aside = `${file}.stale-${process.pid}`;
      try {
        renameSync(file, aside);
      } catch (error) {
        if (!hasCode(error, "ENOENT")) throw error;
      }
      rmSync(aside, { force: true });
      continue;
    }
    onWait(other);
    await sleep(timing.pollMs);
  }

  const write = (): void => {
    if (read(file) !== mine) return;
    beat += 1;
    mine = JSON.stringify({ ...owner, doing, beat });
    try {
      writeFileSync(file, mine);
    } catch {
      // A full disk shows in the build itself, with a better message.
    }
  };
  const timer = setInterval(write, timing.beatMs);
  timer.unref();
  return {
    describe(now) {
      doing = now;
      write();
    },
    release() {
      clearInterval(timer);
      if (read(file) === mine) rmSync(file, { force: true });
    },
  };
}
