/** Milliseconds between two lines about the same step where the output is not a terminal. */
const plainIntervalMs = 30_000;

/** Width of a terminal that does not tell its own (0). */
const defaultColumns = 80;

/** A span of time as a person says it: 12s, 1m 20s. */
export function formatDuration(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m ${seconds % 60}s`;
}

/** Tells a person what is going on. */
export interface Progress {
  /** One line that stays. */
  line(text: string): void;
  /**
   * Shows what `describe` says for as long as the work takes: rewritten in place on a terminal, a line
   * every 30 s elsewhere. It gets the elapsed time, such as " (1m 20s)", or "" in the first second;
   * nothing is shown while it returns undefined.
   */
  during<T>(describe: (elapsed: string) => string | undefined, work: () => Promise<T>): Promise<T>;
}

/** Where progress goes to. `live` is a terminal whose last line can be rewritten. */
export interface Output {
  readonly line: (text: string) => void;
  readonly live?: { readonly write: (text: string) => void; readonly columns: () => number };
}

/** Progress on stderr, or line by line into `log` where it is given. */
export function outputFor(log?: (line: string) => void): Output {
  if (log !== undefined) return { line: log };
  const { stderr } = process;
  const line = (text: string): void => void stderr.write(`${text}\n`);
  if (!stderr.isTTY) return { line };
  return {
    line,
    live: {
      write: (text) => void stderr.write(text),
      columns: () => stderr.columns || defaultColumns,
    },
  };
}

/** @param now clock in milliseconds */
export function createProgress(output: Output, now: () => number = Date.now): Progress {
  const { line, live } = output;
  const clear = "\r\u001b[K";
  return {
    line,
    async during(describe, work) {
      const start = now();
      let lastLine = -Infinity;
      const show = (): void => {
        const elapsed = now() - start;
        const text = describe(elapsed < 1000 ? "" : ` (${formatDuration(elapsed)})`);
        if (text === undefined) return;
        if (live !== undefined) {
          live.write(clear + text.slice(0, live.columns() - 1));
        } else if (now() - lastLine >= plainIntervalMs) {
          line(text);
          lastLine = now();
        }
      };
      show();
      const timer = setInterval(show, 1000);
      try {
        return await work();
      } finally {
        clearInterval(timer);
        live?.write(clear);
      }
    },
  };
}
