import { oneLine } from './text.js';

const MOST_FOLDERS = 40;
const MOST_LANGUAGES = 8;
const ENDING = /^[A-Za-z0-9]{1,8}$/;

/** Describes a repository by its tracked paths and its recent commits, in a few dozen lines. */
export function summarize(paths: Iterable<string>, commits: readonly string[]): string {
  const folders = new Map<string, number>();
  const endings = new Map<string, number>();
  let files = 0;
  for (const path of paths) {
    files += 1;
    const top = path.indexOf('/');
    const second = top < 0 ? -1 : path.indexOf('/', top + 1);
    const folder = top < 0 ? '.' : path.slice(0, second < 0 ? top : second);
    folders.set(folder, (folders.get(folder) ?? 0) + 1);
    const ending = path.slice(path.lastIndexOf('.') + 1 || path.length);
    if (ENDING.test(ending)) endings.set(ending, (endings.get(ending) ?? 0) + 1);
  }
  const outline = [...folders]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([folder, count]) => `  ${oneLine(folder)} (${count})`);
  const most = [...endings].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).slice(0, MOST_LANGUAGES);
  return [
    `${files} tracked files`,
    `by ending: ${most.map(([ending, count]) => `.${ending} ${count}`).join(', ') || '(none)'}`,
    'folders (files):',
    ...outline.slice(0, MOST_FOLDERS),
    ...(outline.length > MOST_FOLDERS ? [`  … ${outline.length - MOST_FOLDERS} more folders`] : []),
    'recent commits:',
    ...commits.map((subject) => `  ${oneLine(subject)}`),
  ].join('\n');
}
