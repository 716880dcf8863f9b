import { EXIT_CODE } from '../outcome.js';

/** What is being done right now, for whoever loses patience. */
let doing = 'starting';

/** Takes note of what is being done. */
export function nowDoing(what: string): void {
  doing = what;
}

/**
 * One signal for the whole tick; its reason is the name of what arrived first. The second one says what is still being
 * done, the third leaves at once: the journal knows how far it was.
 */
export function interruption(): AbortSignal {
  const controller = new AbortController();
  let count = 0;
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      count += 1;
      if (count === 1) controller.abort(name);
      else if (count === 2)
        process.stderr.write(`${name}: still putting things in order (${doing}). Once more leaves at once.\n`);
      else leave(name);
    });
  }
  return controller.signal;
}

function leave(name: NodeJS.Signals): never {
  process.stderr.write(`${name}: leaving in the middle of it (${doing}). Run \`relais recover\` next.\n`);
  process.exit(name === 'SIGINT' ? EXIT_CODE.SIGINT : EXIT_CODE.SIGTERM);
}
