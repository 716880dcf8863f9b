import { cap } from '../rules/prompt.js';
import { summarize } from '../rules/repository.js';
import type { Baseline, Run } from './run.js';

const MAX_CHARS = 4000;

/** A bounded outline of the repository for the Brain: folders, languages, recent commits. */
export async function repositorySummary(run: Run, baseline: Baseline): Promise<string> {
  const commits = await run.git.recentCommits(10);
  return cap(summarize(baseline.index.keys(), commits), MAX_CHARS);
}
