interface Help {
  readonly examples: readonly string[];
  readonly exits: readonly string[];
  /** What has to be known before the command is used. */
  readonly note?: readonly string[];
}

const HELP = {
  relais: {
    examples: ['relais demo', 'relais init && relais doctor', 'relais status --preflight', 'relais run'],
    exits: [
      '0    done',
      '1    waiting for you: a question is pending',
      '2    STOP: the tick was stopped and rolled back',
      '3    BLOCKED: the config or the machine must be put in order first',
      '64   bad command line',
      '70   internal error',
      '130  interrupted by SIGINT (Ctrl-C); 143 by SIGTERM',
    ],
  },
  init: {
    examples: ['relais init', 'relais init --yes', 'relais init --dry-run --json'],
    exits: [
      '0    written, or nothing to write',
      '1    you said no',
      '3    no repository, something is in the way, or the config that is there is not valid',
      '64   no terminal to ask on, and no --yes',
      '130  cancelled at the prompt, nothing written',
    ],
  },
  doctor: {
    examples: ['relais doctor', 'relais doctor --json'],
    exits: ['0    nothing failed', '3    something failed'],
  },
  run: {
    note: [
      'This calls an agent program, which may cost money. As relais init sets it up, a call of the Brain is',
      'capped at 0.40 USD, a call of the Hands at 1.50 USD, and a milestone at 80 USD; relais.config.json',
      'changes that. Every tick costs, also one in which nothing changed: do not run it in an endless loop.',
    ],
    examples: ['relais run', 'relais run --json --quiet'],
    exits: [
      '0    SUCCESS',
      '1    SUCCESS with a question, or a question is still pending',
      '2    STOP',
      '3    BLOCKED',
      '130  interrupted by SIGINT (Ctrl-C), rolled back; 143 by SIGTERM',
    ],
  },
  status: {
    examples: ['relais status', 'relais status --preflight', 'relais status --preflight --json'],
    exits: [
      '0    fine; with --preflight: a tick could start',
      '1    a question is pending',
      '3    no usable config or repository, or a damaged file; with --preflight: a tick could not start',
    ],
  },
  answer: {
    examples: ['relais answer --choice 2', 'relais answer "Use the second one, but keep the old name."'],
    exits: [
      '0    recorded',
      '3    no usable config, no question is pending, a damaged file, or a tick is running',
      '64   no such choice, or no answer given',
    ],
  },
  salvage: {
    note: [
      'The refused work is put back and judged again by the config as it is now and the task as it was recorded.',
      'The flags widen that task only: what the config forbids, its fence and its ceilings still hold. No agent is',
      'called. If HEAD has moved since, the work is carried over to it (git 2.38 or newer); a conflict refuses.',
    ],
    examples: ['relais salvage last --allow-new-files', "relais salvage 20261118T08 --allow 'docs/**' --max-lines 300"],
    exits: [
      '0    SUCCESS: the work is committed',
      '2    STOP: refused again and rolled back; it is still kept',
      '3    BLOCKED, a conflict, or the work can’t be put back; nothing was changed',
      '64   no such run, or a bad flag',
      '130  interrupted by SIGINT (Ctrl-C), rolled back; 143 by SIGTERM',
    ],
  },
  rejected: {
    examples: ['relais rejected', 'relais rejected --prune --older-than 14 --dry-run', 'relais rejected --json'],
    exits: [
      '0    listed, or removed',
      '2    something could not be removed, and is named',
      '3    no usable config, a tick is running or was interrupted',
      '64   --older-than or --dry-run without --prune',
    ],
  },
  undo: {
    note: [
      'No agent is called and no check is run; the branch only gains a commit. An undo can be undone by its own run id.',
    ],
    examples: ['relais undo', 'relais undo 20261118T083915Z-3fa9c1d2'],
    exits: [
      '0    taken back',
      '2    could not be finished; put back as it was, or what is left is named',
      '3    a conflict, changes that are not committed, taken back already, or a tick is running or was interrupted',
      '64   no such run on this branch',
    ],
  },
  recover: {
    examples: ['relais recover --dry-run', 'relais recover', 'relais recover --keep'],
    exits: [
      '0    in order again, or nothing to do',
      '2    something is still open, and is named',
      '3    no usable config, or a tick is running',
    ],
  },
  unlock: {
    note: [
      'Only for a lock that Relais can’t judge: from another host or container, or damaged. One whose process is gone',
      'is taken over by the next command; one whose process is running is never removed.',
    ],
    examples: ['relais unlock', 'relais unlock --force 20261118T083915Z-3fa9c1d2'],
    exits: [
      '0    there is no lock (any more)',
      '3    the lock stays, and why',
      '64   --force without the run id the lock names',
    ],
  },
  demo: {
    examples: ['relais demo', 'relais demo --keep'],
    exits: [
      '0    both ticks ended as planned',
      '70   one did not',
      '130  interrupted by SIGINT (Ctrl-C); 143 by SIGTERM',
    ],
  },
  fixtures: {
    examples: ['relais fixtures', 'relais fixtures F001 F005'],
    exits: [
      '0    all passed',
      '2    one failed',
      '64   no such fixture',
      '130  interrupted by SIGINT (Ctrl-C); 143 by SIGTERM',
    ],
  },
} as const satisfies Readonly<Record<string, Help>>;

/** What stands below a command's options in its help: what to know first, examples and exit codes. */
export function helpOf(name: keyof typeof HELP): string {
  const { examples, exits, note = [] }: Help = HELP[name];
  const list = (lines: readonly string[]): string => lines.map((line) => `  ${line}`).join('\n');
  const first = note.length === 0 ? '' : `\n${note.join('\n')}\n`;
  return `${first}\nExamples:\n${list(examples)}\n\nExit codes:\n${list(exits)}`;
}
