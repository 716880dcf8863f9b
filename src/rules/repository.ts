import { oneLine } from './text.js';

const MOST_FOLDERS = 40;
const MOST_LANGUAGES = 8;

/** Describes a repository by its tracked paths and its recent commits, in a few dozen lines. */
export function summarize(paths: readonly string[], commits: readonly string[]): string {
  const folders = new Map<string, number>();
  const endings = new Map<string, number>();
  for (const path of paths) {
    const parts = path.split('/');
    const folder = parts.length === 1 ? '.' : parts.slice(0, Math.min(2, parts.length - 1)).join('/');
    folders.set(folder, (folders.get(folder) ?? 0) + 1);
    const ending = /\.([A-Za-z0-9]{1,8})$/.exec(path)?.[1];
    if (ending !== undefined) endings.set(ending, (endings.get(ending) ?? 0) + 1);
  }
  const outline = [...folders]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([folder, count]) => `  ${oneLine(folder)} (${count})`);
  const most = [...endings].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).slice(0, MOST_LANGUAGES);
  return [
    `${paths.length} tracked files`,
    `by ending: ${most.map(([ending, count]) => `.${ending} ${count}`).join(', ') || '(none)'}`,
    'folders (files):',
    ...outline.slice(0, MOST_FOLDERS),
    ...(outline.length > MOST_FOLDERS ? [`  … ${outline.length - MOST_FOLDERS} more folders`] : []),
    'recent commits:',
    ...commits.map((subject) => `  ${oneLine(subject)}`),
  ].join('\n');
}
