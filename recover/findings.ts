// What an interrupted run has left: in the backend, in the stack's state and among the processes.
import type { Lock } from "./locks.ts";
import type { Process } from "./processes.ts";

/** An operation that was begun and never reported back. */
export interface PendingOperation {
  readonly type: string;
  readonly urn: string;
}

/** Everything that was found. */
export interface Findings {
  /** Undefined: the backend is no folder of this machine, and only the CLI knows its locks. */
  readonly locks: readonly Lock[] | undefined;
  readonly pending: readonly PendingOperation[];
  readonly orphans: readonly Process[];
}

/**
 * Pending operations of an exported state.
 * @param exported what `pulumi stack export` printed
 * @throws SyntaxError when that is no JSON
 */
export function pendingOperations(exported: string): PendingOperation[] {
  const { deployment } = JSON.parse(exported) as {
    readonly deployment?: {
      readonly pending_operations?:
        readonly { readonly type: string; readonly resource: { readonly urn: string } }[] | null;
    } | null;
  };
  const operations = deployment?.pending_operations ?? [];
  return operations.map(({ type, resource }) => ({ type, urn: resource.urn }));
}

/** Whether there is anything to recover from. */
export function isClean({ locks = [], pending, orphans }: Findings): boolean {
  return locks.length + pending.length + orphans.length === 0;
}

/** Why nothing may be cleared: somebody may still be at work. */
export function blockers({ locks = [] }: Findings): string[] {
  return locks
    .filter(({ holder }) => holder !== "dead")
    .map((lock) =>
      lock.holder === "alive"
        ? `${lockText(lock)} is still running: wait for its end, or end it with \`kill -INT ${lock.pid}\``
        : `${lockText(lock)}: whether it still runs can only be seen on ${lock.hostname}; run this there, or ` +
          "`pulumi cancel` once it is known to be dead",
    );
}

/** The findings for a person, one line each, with what recovery does about it. */
export function findingLines({ locks, pending, orphans }: Findings): string[] {
  return [
    ...(locks ?? [])
      .filter(({ holder }) => holder === "dead")
      .map((lock) => `stale lock: ${lockText(lock)} is dead; it will be removed`),
    ...(locks === undefined
      ? [
          "locks: not looked at, the backend is not on this machine; the refresh says if it is locked",
        ]
      : []),
    ...orphans.map(
      ({ pid, command }) =>
        `orphaned provider: pid ${pid} (${command.join(" ")}); it will be ended`,
    ),
    ...pending.map(
      ({ type, urn }) =>
        `pending operation: ${type} ${urn.split("::").slice(2).join("::")}; ` +
        (type === "creating"
          ? "it will be forgotten, and the next `up` takes over what exists"
          : "the refresh will settle it"),
    ),
  ];
}

function lockText({ pid, username, hostname, timestamp }: Lock): string {
  return `pulumi of ${username}@${hostname}, pid ${pid}, since ${timestamp}`;
}
