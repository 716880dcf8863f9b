import { oneLine } from './text.js';

const MOST_FOLDERS = 40;
const MOST_LANGUAGES = 8;
const ENDING = /^\.[A-Za-z0-9]{1,8}$/;

/** Describes a repository by its tracked paths and its recent commits, in a few dozen lines. */
export function summarize(paths: Iterable<string>, commits: readonly string[]): string {
  const folders = new Tally();
  const endings = new Tally();
  let files = 0;
  for (const path of paths) {
    files += 1;
    const top = path.indexOf('/');
    const second = top < 0 ? -1 : path.indexOf('/', top + 1);
    folders.add(top < 0 ? '.' : path.slice(0, second < 0 ? top : second));
    endings.add(path.slice(path.lastIndexOf('.')));
  }
  const outline = folders
    .counted()
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([folder, count]) => `  ${oneLine(folder)} (${count})`);
  const most = endings
    .counted()
    .filter(([ending]) => ENDING.test(ending))
    .sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
    .slice(0, MOST_LANGUAGES);
  return [
    `${files} tracked files`,
    `by ending: ${most.map(([ending, count]) => `${ending} ${count}`).join(', ') || '(none)'}`,
    'folders (files):',
    ...outline.slice(0, MOST_FOLDERS),
    ...(outline.length > MOST_FOLDERS ? [`  … ${outline.length - MOST_FOLDERS} more folders`] : []),
    'recent commits:',
    ...commits.map((subject) => `  ${oneLine(subject)}`),
  ].join('\n');
}

/** Counts names; the same one again, as sorted paths have it, costs a comparison only. */
class Tally {
  readonly #counts = new Map<string, { count: number }>();
  #name: string | undefined;
  #entry = { count: 0 };

  add(name: string): void {
    if (name !== this.#name) {
      this.#name = name;
      this.#entry = this.#counts.get(name) ?? { count: 0 };
      this.#counts.set(name, this.#entry);
    }
    this.#entry.count += 1;
  }

  counted(): [string, number][] {
    return [...this.#counts].map(([name, { count }]) => [name, count]);
  }
}
