// Who holds the lock of a stack in a file backend. Other backends keep theirs where only the CLI can look.
import { readdir, readFile } from "node:fs/promises";
import { homedir, hostname } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PROJECT } from "../config/schema.ts";
import { isPulumi, processOf } from "./processes.ts";

/** One lock of a stack, as the CLI writes it, and whether its holder still lives. */
export interface Lock {
  readonly pid: number;
  readonly username: string;
  readonly hostname: string;
  /** ISO 8601. */
  readonly timestamp: string;
  /** `elsewhere`: on another machine, where nobody can look from here. */
  readonly holder: "alive" | "dead" | "elsewhere";
}

/**
 * The folder of a stack's locks; undefined where the backend is no folder of this machine.
 * @param backendUrl as `pulumi whoami --json` names it
 */
export function lockFolder(backendUrl: string, stack: string): string | undefined {
  if (!backendUrl.startsWith("file://")) return undefined;
  const rest = backendUrl.slice("file://".length);
  const root = rest.startsWith("~") ? join(homedir(), rest.slice(1)) : fileURLToPath(backendUrl);
  return join(root, ".pulumi", "locks", "organization", PROJECT, stack);
}

/** The locks in a folder of {@link lockFolder}; none where the folder does not exist. */
export async function locksIn(folder: string): Promise<Lock[]> {
  const names = await readdir(folder).catch((): string[] => []);
  const locks = await Promise.all(
    names
      .filter((name) => name.endsWith(".json"))
      .map(async (name) => lockOf(await readFile(join(folder, name), "utf8").catch(() => ""))),
  );
  return locks.filter((lock) => lock !== undefined);
}

/** The lock in a file's text. Half-written by a killed CLI, it names nobody: then the holder is dead. */
async function lockOf(text: string): Promise<Lock | undefined> {
  // Removed between the listing and the reading.
  if (text === "") return undefined;
  const { pid = 0, username = "?", hostname: host = hostname(), timestamp = "?" } = parsed(text);
  const lock = { pid, username, hostname: host, timestamp };
  if (host !== hostname()) return { ...lock, holder: "elsewhere" };
  const process = await processOf(pid);
  // A number that another program has by now is no holder.
  return { ...lock, holder: process !== undefined && isPulumi(process) ? "alive" : "dead" };
}

function parsed(text: string): Partial<Omit<Lock, "holder">> {
  try {
    return JSON.parse(text) as Partial<Omit<Lock, "holder">>;
  } catch {
    return {};
  }
}
