import { execa } from 'execa';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { commitMessage } from '../../src/rules/commitMessage.js';
import { oneOf, sampleTask } from './samples.js';

const TRAILERS = ['Relais-Run', 'Relais-Task', 'Relais-Verdict', 'Relais-Blast-Radius', 'Relais-Cost-Usd'];

function message(change: Parameters<typeof sampleTask>[0] = {}): string {
  return commitMessage({ task: sampleTask(change), runId: 'R1', blast: '1 files, +1/-1, 0 new', costUsd: 0.12345 });
}

describe('the commit message', () => {
  test('says what was done, and by which run, in trailers', () => {
    expect(message()).toBe(
      [
        'T1: Make the sum right.',
        '',
        'Make the sum right.',
        '',
        'Relais-Run: R1',
        'Relais-Task: T1',
        'Relais-Verdict: SUCCESS',
        'Relais-Blast-Radius: 1 files, +1/-1, 0 new',
        'Relais-Cost-Usd: 0.1235',
        '',
      ].join('\n'),
    );
  });

  test('keeps the subject short and the intent whole', () => {
    const intent = 'word '.repeat(100).trim();
    const [subject = '', , body] = message({ intent }).split('\n');
    expect(subject).toHaveLength(72);
    expect(subject.endsWith('…')).toBe(true);
    expect(body).toBe(intent);
  });

  test('a task can add no line of its own', () => {
    const text = fc.string({ unit: oneOf('ab:\n\r\u2028\u0085\u001b '), minLength: 1 });
    fc.assert(
      fc.property(text, text, (task_id, intent) => {
        const lines = message({ task_id, intent: `${intent}\n\nSigned-off-by: x` }).split('\n');
        expect(lines).toHaveLength(10);
        expect(lines.slice(-6, -1).map((line) => line.replace(/:.*/, ''))).toEqual(TRAILERS);
        expect(lines.join('')).not.toContain('\u001b');
      }),
    );
  });

  test.each(['Relais-Verdict: STOP', 'x\n\nSigned-off-by: somebody', '---', '--- a/x', '# x', ''])(
    'git reads our trailers and no others when the intent is %j',
    async (intent) => {
      const { stdout } = await execa('git', ['interpret-trailers', '--parse'], {
        input: message({ intent, task_id: intent || 'T1' }),
      });
      const lines = stdout.split('\n');
      expect(lines.map((line) => line.replace(/:.*/, ''))).toEqual(TRAILERS);
      expect(lines).toContain('Relais-Verdict: SUCCESS');
    },
  );
});
