import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import path from 'node:path';

/** Processes that belong to a scratch: by its folder in their environment or as their own, or by the pids it noted. */
export function processesOf(root: string): string[] {
  if (process.platform !== 'linux') return [];
  const noted = new Set(textOf(path.join(root, 'pids')).split(/\s+/));
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .filter((pid) => noted.has(pid) || folderOf(pid).startsWith(root) || textOf(`/proc/${pid}/environ`).includes(root))
    .filter((pid) => !/^State:\s+[ZX]/m.test(textOf(`/proc/${pid}/status`)))
    .map((pid) => `process ${pid} is left: ${textOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').slice(0, 200)}`);
}

function folderOf(pid: string): string {
  return orNothing(() => readlinkSync(`/proc/${pid}/cwd`));
}

function textOf(file: string): string {
  return orNothing(() => readFileSync(file, 'latin1'));
}

/** Other users' processes can't be read, and processes end while one looks. */
function orNothing(read: () => string): string {
  try {
    return read();
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM', 'ENAMETOOLONG'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return '';
    throw error;
  }
}
