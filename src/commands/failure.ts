import { EXIT_CODE } from '../outcome.js';
import { NoGitError } from '../world/git/program.js';
import { environmentRemedy } from '../rules/environment.js';
import { refuse, type Problem } from './output.js';

const BUG =
  'Please report this with the lines above. `relais doctor` may say more, `relais recover` puts an interrupted tick in order.';

/** Ends a command that threw: 3 where the machine is the reason, 70 where it is Relais. */
export function fail(error: unknown, json: boolean): number {
  const problem = environmentProblem(error);
  if (problem !== undefined) return refuse(json, problem, EXIT_CODE.blocked);
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return refuse(json, { why: `internal error: ${text}`, remedy: BUG }, EXIT_CODE.internal);
}

function environmentProblem(error: unknown): Problem | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof NoGitError)
    return { why: error.message, remedy: 'Install git 2.31 or newer and put it on PATH, outside the repository.' };
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  if (syscall === 'uv_cwd')
    return { why: 'the current folder no longer exists', remedy: 'Go to another folder and try again.' };
  const remedy = environmentRemedy(code);
  return remedy === undefined ? undefined : { why: error.message, remedy };
}
