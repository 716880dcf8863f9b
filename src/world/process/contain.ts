import { spawnSync } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import path from 'node:path';
import type { ChildRequest } from '../../model.js';

/** How surely everything a child starts is ended with it: by the kernel, or as far as it can be found. */
export type Containment = 'pidns' | 'group+marker' | 'group';

/** What the first process of a namespace told about the program it ran. */
export interface Told {
  /** False: there was no namespace, so nothing was run. */
  readonly ready: boolean;
  /** The shell named a signal that ended the program. */
  readonly signalNamed: boolean;
  /** Who was still running when the program had ended, by the namespace's own numbers; undefined: it was all killed. */
  readonly left?: readonly number[];
}

/** Where a system keeps its own programs; PATH might lead into a repository. */
const SYSTEM_FOLDERS = ['/usr/bin', '/bin', '/run/current-system/sw/bin'];
const PROBE_MS = 5000;
/** What the C library searches when there is no PATH. */
const DEFAULT_PATH = '/bin:/usr/bin';

/**
 * The first process of a namespace: the kernel spares it signals it has no handler for, so it is a shell and the program its child.
 * Its own words go to descriptor 2, the program's errors to 3; bash, where it is `sh`, is made to name signals as well. Who has no `exe` has ended already. When it exits, the kernel ends all others before anybody is told.
 */
const FIRST = `if [ -n "$BASH_VERSION" ] && (set +o posix) 2>/dev/null; then set +o posix; fi
echo ready >&2
(exec 2>&3 3>&-; exec "$@")
code=$?
left=
for p in /proc/[0-9]*; do if [ "$p" != /proc/1 ] && [ -e "$p/exe" ]; then left="$left \${p#/proc/}"; fi; done
echo "left$left" >&2
exit $code`;

let probed: readonly string[] | undefined | 'not yet' = 'not yet';

/** The level children of this process reach; RELAIS_CONTAINMENT=group does without a namespace. */
export function containment(): Containment {
  if (process.platform !== 'linux') return 'group';
  return process.env['RELAIS_CONTAINMENT'] !== 'group' && prefix() !== undefined ? 'pidns' : 'group+marker';
}

/** The command that runs a program in a PID namespace of its own; only where containment is `pidns`. */
export function inNamespace(program: string, args: readonly string[]): { program: string; args: string[] } {
  const [first, ...rest] = prefix() ?? [];
  if (first === undefined) throw new Error('no PID namespace can be had here');
  return { program: first, args: [...rest, program, ...args] };
}

/** Where the system would find a program, or the error it would give. */
export function findProgram({ program, cwd, env }: ChildRequest): { file: string } | { error: string } {
  const folders = program.includes('/') ? [''] : (env['PATH'] ?? DEFAULT_PATH).split(path.delimiter);
  let error = 'ENOENT';
  for (const folder of folders) {
    const file = path.resolve(cwd, folder, program);
    const found = programError(file);
    if (found === undefined) return { file };
    if (found === 'EACCES' || program.includes('/')) error = found;
  }
  return { error };
}

/** Reads what FIRST wrote to descriptor 2. */
export function readTold(text: string): Told {
  const lines = text.split('\n').filter((line) => line !== '');
  const at = lines.findIndex((line) => line.startsWith('left'));
  const [, ...left] = (lines[at] ?? '').split(' ');
  return {
    ready: lines[0] === 'ready',
    signalNamed: at > 1,
    ...(at !== -1 && { left: left.map(Number) }),
  };
}

function programError(file: string): string | undefined {
  try {
    if (!statSync(file).isFile()) return 'EACCES';
    accessSync(file, constants.X_OK);
    return undefined;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP', 'ENAMETOOLONG'].includes(code)) return code;
    throw error;
  }
}

function prefix(): readonly string[] | undefined {
  if (probed === 'not yet') {
    const command = namespaceCommand();
    probed = command !== undefined && works(command) ? command : undefined;
  }
  return probed;
}

function namespaceCommand(): string[] | undefined {
  const [setpriv, unshare] = ['setpriv', 'unshare'].map((name) =>
    SYSTEM_FOLDERS.map((folder) => path.join(folder, name)).find((file) => programError(file) === undefined),
  );
  if (setpriv === undefined || unshare === undefined) return undefined;
  return [
    setpriv,
    // `unshare` dies with the runner, even if that is killed …
    '--pdeathsig=KILL',
    '--',
    unshare,
    // Without root a namespace of users is needed first; everybody stays who they are.
    ...(process.getuid?.() === 0 ? [] : ['--user', '--map-current-user']),
    '--pid',
    '--fork',
    // … and the namespace with `unshare`.
    '--kill-child',
    // A /proc that shows the namespace's own numbers.
    '--mount-proc',
    // What is mounted outside later on is seen inside as well.
    '--propagation=slave',
    '--',
    '/bin/sh',
    '-c',
    FIRST,
    'relais',
  ];
}

/** Whether a program really is the second process of a namespace, with a /proc to match. */
function works(command: readonly string[]): boolean {
  const [first = '', ...rest] = command;
  const check = ['/bin/sh', '-c', '[ "$PPID" = 1 ] && [ -e "/proc/$$/exe" ]'];
  const { status, stderr } = spawnSync(first, [...rest, ...check], {
    cwd: '/',
    env: {},
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    timeout: PROBE_MS,
    killSignal: 'SIGKILL',
  });
  return status === 0 && readTold(stderr.toString()).ready;
}
