/** One signal for the whole tick; its reason is the name of what arrived first. */
export function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (controller.signal.aborted)
        process.stderr.write(`${name}: still cleaning up (ending children, rolling back, reporting)\n`);
      else controller.abort(name);
    });
  }
  return controller.signal;
}
