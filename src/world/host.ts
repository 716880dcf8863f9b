import { readFile, readlink, statfs } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { execa } from 'execa';
import type { HostIdentity } from '../model.js';

/** Who this process is, precisely enough that no other process, boot or machine can be taken for it. */
export async function identity(): Promise<HostIdentity> {
  const [start, boot, namespace] = await Promise.all([processStart(process.pid), bootId(), pidNamespace()]);
  return {
    pid: process.pid,
    pid_start: start ?? '',
    boot_id: boot,
    host: os.hostname(),
    pid_namespace: namespace,
  };
}

/** When a process started, in the kernel's own clock; '' where it can't be told, undefined when there is none. */
export async function processStart(pid: number): Promise<string | undefined> {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  if (!isThere(pid)) return undefined;
  if (process.platform !== 'linux') return textOf('ps', ['-o', 'lstart=', '-p', String(pid)]);
  try {
    const fields = statFields(await readFile(`/proc/${pid}/stat`, 'latin1'));
    // A zombie has ended; only its parent has not noticed.
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : (fields[19] ?? '');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Gone since the first look, or hidden (hidepid): only the first is an answer.
    if (code === 'ENOENT' || code === 'ESRCH') return isThere(pid) ? '' : undefined;
    if (code === 'EACCES' || code === 'EPERM') return '';
    throw error;
  }
}

/** The fields of /proc/<pid>/stat after the program's name, which may hold anything; [0] is the state. */
export function statFields(stat: string): string[] {
  return stat
    .slice(stat.lastIndexOf(')') + 2)
    .trimEnd()
    .split(' ');
}

/** Bytes a normal user can still write on the disk that holds this path. */
export async function freeBytes(target: string): Promise<number> {
  const disk = await statfs(target);
  return disk.bavail * disk.bsize;
}

/** The folder for Relais' private copies, outside every repository. */
export function stateDir(env: Readonly<Record<string, string | undefined>>): string {
  if (env['RELAIS_STATE_DIR']) return path.resolve(env['RELAIS_STATE_DIR']);
  const xdg = env['XDG_STATE_HOME'];
  // The XDG specification says to ignore a relative value.
  if (xdg && path.isAbsolute(xdg)) return path.join(xdg, 'relais');
  return path.join(env['HOME'] || os.homedir(), '.local', 'state', 'relais');
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EPERM') return true;
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

async function bootId(): Promise<string> {
  if (process.platform !== 'linux') return textOf('sysctl', ['-n', 'kern.boottime']);
  return (await unlessMissing(readFile('/proc/sys/kernel/random/boot_id', 'utf8'))).trim();
}

async function pidNamespace(): Promise<string> {
  return process.platform === 'linux' ? unlessMissing(readlink('/proc/self/ns/pid')) : '';
}

async function unlessMissing(text: Promise<string>): Promise<string> {
  try {
    return await text;
  } catch (error) {
    if (['ENOENT', 'EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return '';
    throw error;
  }
}

async function textOf(program: string, args: string[]): Promise<string> {
  const result = await execa(program, args, { reject: false, stdin: 'ignore' });
  return result.exitCode === 0 ? result.stdout.trim() : '';
}
