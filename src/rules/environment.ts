const REMEDIES: Readonly<Record<string, string>> = {
  EACCES: 'Give this user permission for the path named, then try again. `relais doctor` lists what must be writable.',
  EPERM: 'Give this user permission for the path named, then try again. `relais doctor` lists what must be writable.',
  EEXIST: 'Move away what has the name of a folder Relais needs, then try again.',
  ENOTDIR: 'Move away what has the name of a folder Relais needs, then try again.',
  EROFS: 'Make the file system writable, or work in a copy that is.',
  ENOSPC: 'Free some disk space, then try again.',
  EDQUOT: 'Free some of your disk quota, then try again.',
  EMFILE: 'Raise the limit of open files (ulimit -n), then try again.',
};

/** What to do about an error of the machine, told by its code; undefined where the machine is not the reason. */
export function environmentRemedy(code: string): string | undefined {
  return REMEDIES[code];
}
