/** A signal that Ctrl-C and its like give, so that a command ends its labs before it ends itself. */
export function interrupt(): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => {
      controller.abort();
    });
  }
  return controller.signal;
}
