import { appendFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";

const SQLITE_BUSY = 5;

/** How to wait for a lock. */
export interface LockOptions {
  /** Called once when somebody else holds the lock. */
  readonly onWait?: () => void;
  /** How long to wait at most. */
  readonly timeoutSeconds: number;
  /** Ends the wait, not the action. */
  readonly signal?: AbortSignal;
}

/**
 * Runs `action` while this process alone holds the lock on `file`, waiting for another holder.
 * SQLite's file lock is used because the operating system releases it when its holder dies, however
 * it dies: there is no stale lock to judge.
 * @param file made when absent, stays empty, never removed: removing it would let two holders in
 * @throws Error when the lock stays taken for too long, or when the file cannot be made
 */
export async function withFileLock<T>(
  file: string,
  action: () => Promise<T>,
  { onWait, timeoutSeconds, signal }: LockOptions,
): Promise<T> {
  // SQLite would not say why it cannot open a file.
  await appendFile(file, "");
  const database = new DatabaseSync(file);
  try {
    const deadline = Date.now() + timeoutSeconds * 1000;
    for (let attempt = 0; !tryLock(database); attempt++) {
      if (attempt === 0) onWait?.();
      if (Date.now() > deadline) {
        throw new Error(`${file} is locked by another process for ${timeoutSeconds} s`);
      }
      await sleep(100, undefined, { signal });
    }
    return await action();
  } finally {
    database.close();
  }
}

function tryLock(database: DatabaseSync): boolean {
  try {
    database.exec("BEGIN EXCLUSIVE");
    return true;
  } catch (error) {
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return false;
    throw error;
  }
}
