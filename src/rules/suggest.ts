/** The candidate a mistyped word most likely meant, if any is close enough. */
export function suggest(word: string, candidates: readonly string[]): string | undefined {
  const limit = Math.max(2, Math.floor(word.length / 3));
  const ranked = candidates
    .map((candidate) => ({ candidate, edits: distance(word.toLowerCase(), candidate.toLowerCase(), limit) }))
    .filter(({ candidate, edits }) => edits <= limit && edits < Math.max(word.length, candidate.length))
    .toSorted((left, right) => left.edits - right.edits);
  return ranked[0]?.candidate;
}

// Levenshtein's distance, row by row; words that differ too much in length are not worth counting.
function distance(left: string, right: string, limit: number): number {
  if (Math.abs(left.length - right.length) > limit) return limit + 1;
  let row = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let i = 1; i <= left.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= right.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? limit + 1;
}
