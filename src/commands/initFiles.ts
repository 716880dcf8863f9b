import { lstat } from 'node:fs/promises';
import path from 'node:path';
import { ensureDir, readText, writeAtomic } from '../world/files.js';

const MAX_FILE = 4 * 1024 * 1024;

/** The schemas and prompts a workspace holds; the package's folders of the same names hold the originals. */
export const WORKSPACE_SCHEMAS = ['task', 'builder_result', 'report', 'config'].map((name) => `${name}.schema.json`);
export const WORKSPACE_PROMPTS = [
  'orchestrator.system.txt',
  'orchestrator.user.txt',
  'builder.system.txt',
  'builder.user.txt',
];

const GITIGNORE = `# What the runner writes while it works. Schemas, prompts and FACTS.md are tracked.
/STATE.json
/TASK.json
/REPORT.json
/REPORT.md
/BLOCKED.json
/lock.json*
/history/
/logs/
/cycles/
*.broken
*.tmp
*.json.[0-9]*
*.md.[0-9]*
`;

const FACTS = `# Facts

What the Brain should know in every tick and could not see in the code: decisions, constraints, names,
where things are. Relais reads this file and never writes it. Short lines serve best: the text is capped.
`;

const FIXTURES = `# Fixtures

The smallest ticks that prove the contract. Each is a scratch repository, a scripted agent and an expected
ending; none needs an account or the network. They ship with the package: \`relais fixtures\` plays all of
them, \`relais fixtures F005 F009\` plays these two.

| name | what happens | ending |
|---|---|---|
| F001 | a valid task, work inside its scope | SUCCESS, at most two Brain calls and one of the Hands |
| F002 | the Brain's answer is invalid twice | BLOCKED_ORCHESTRATOR_OUTPUT_INVALID |
| F003 | a question, yet a file was edited | STOP_QUESTION_SIDE_EFFECTS, rolled back |
| F004 | verify_only, yet a file was edited | STOP_VERIFY_ONLY_SIDE_EFFECTS, rolled back |
| F005 | an edit outside allowed_globs | STOP_SCOPE_VIOLATION_OUTSIDE_ALLOWED |
| F006 | an edit of the runner's own files or of .git | STOP_RUNNER_OWNED_MUTATION or STOP_SCOPE_VIOLATION_FORBIDDEN |
| F007 | a new file where none is allowed | STOP_SCOPE_VIOLATION_NEW_FILE |
| F008 | a changed lockfile | STOP_LOCKFILE_CHANGE_FORBIDDEN |
| F009 | more lines than the limit | STOP_DIFF_TOO_LARGE |
| F010 | a check's parameter carries a metacharacter | STOP_VERIFY_TAINTED, nothing was run |
| F011 | a fast check fails | STOP_VERIFY_FAILED_FAST, no slow check was run |
| F012 | a corrupt STATE.json next to its temp file | BLOCKED_CRASH_RECOVERY_REQUIRED |
`;

/** A file with the text init would give it; the path is relative to the work tree. */
export interface Original {
  readonly path: string;
  readonly text: string;
}

/** What init does about one file. Only `create` writes; `blocked` means that something is in the way. */
export interface Step extends Original {
  readonly action: 'create' | 'same' | 'keep' | 'blocked';
  /** Why a file is kept or blocked. */
  readonly why?: string;
}

/** Every file of a workspace as this version of the package has it. */
export async function originals(packageRoot: string, workspace: string): Promise<Original[]> {
  const shipped = async (folder: string, name: string): Promise<Original> => {
    const file = path.join(packageRoot, folder, name);
    const read = await readText(file, MAX_FILE);
    if (read.found !== 'text')
      throw new Error(`${file} is ${read.found}: the package is not complete, install it again`);
    return { path: `${workspace}/${folder}/${name}`, text: read.text };
  };
  return [
    ...(await Promise.all(WORKSPACE_SCHEMAS.map((name) => shipped('schemas', name)))),
    ...(await Promise.all(WORKSPACE_PROMPTS.map((name) => shipped('prompts', name)))),
    { path: `${workspace}/FACTS.md`, text: FACTS },
    { path: `${workspace}/fixtures/README.md`, text: FIXTURES },
    { path: `${workspace}/.gitignore`, text: GITIGNORE },
  ];
}

/** Compares each original with what is there; reads only. */
export async function planSteps(root: string, files: readonly Original[]): Promise<Step[]> {
  return Promise.all(files.map((file) => planStep(root, file)));
}

async function planStep(root: string, file: Original): Promise<Step> {
  const obstacle = await folderProblem(root, file.path);
  if (obstacle !== undefined) return { ...file, action: 'blocked', why: obstacle };
  const read = await readText(path.join(root, file.path), MAX_FILE);
  if (read.found === 'missing') return { ...file, action: 'create' };
  if (read.found === 'unreadable') return { ...file, action: 'blocked', why: read.why };
  if (read.text === file.text) return { ...file, action: 'same' };
  return { ...file, action: 'keep', why: 'yours, or of another version' };
}

/** Why a file's folders can't be used: one of their names is taken by a file, or by a link that leads elsewhere. */
async function folderProblem(root: string, file: string): Promise<string | undefined> {
  const names = file.split('/').slice(0, -1);
  for (let depth = 1; depth <= names.length; depth += 1) {
    const folder = names.slice(0, depth).join('/');
    const stat = await lstat(path.join(root, folder)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
    if (stat === undefined) return undefined;
    if (!stat.isDirectory()) return `${folder} is ${stat.isSymbolicLink() ? 'a link' : 'a file'}, not a folder`;
  }
  return undefined;
}

/** Writes the missing files, each whole or not at all. */
export async function writeSteps(root: string, steps: readonly Step[]): Promise<void> {
  for (const step of steps) {
    if (step.action !== 'create') continue;
    const file = path.join(root, step.path);
    await ensureDir(path.dirname(file));
    await writeAtomic(file, step.text);
  }
}
