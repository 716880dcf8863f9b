import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { soleObject } from '../../src/rules/answer.js';

const loose = { allowFence: true };
const strict = { allowFence: false };

describe('one JSON object', () => {
  test.each(['{"a":1}', ' \n{"a":1}\n ', '\ufeff{"a":1}'])('%j is it', (text) => {
    expect(soleObject(text, strict)).toEqual({ ok: true, value: { a: 1 } });
    expect(soleObject(text, loose)).toEqual({ ok: true, value: { a: 1 } });
  });

  test.each(['```json\n{"a":1}\n```', '```\n{"a":1}\n```', '\n```JSON \r\n{"a":1}\r\n```\n', '```json\n\n{"a":1}```'])(
    '%j is it where a fence is allowed',
    (text) => {
      expect(soleObject(text, loose)).toEqual({ ok: true, value: { a: 1 } });
      const refused = soleObject(text, strict);
      expect(refused.ok ? [] : refused.errors[0]).toContain('code fence');
    },
  );

  test('backticks inside a string end no fence', () => {
    const value = { a: '```\n```' };
    expect(soleObject(`\`\`\`json\n${JSON.stringify(value)}\n\`\`\``, loose)).toEqual({ ok: true, value });
  });

  test.each([
    ['', 'empty'],
    [' \n ', 'empty'],
    ['Here it is: {"a":1}', 'does not begin with "{"'],
    ['{"a":1} Done.', 'not one JSON object'],
    ['{"a":1}{"b":2}', 'not one JSON object'],
    ['{"a":1}\n```json\n{"b":2}\n```', 'not one JSON object'],
    ['```json\n{"a":1}\n```\n```json\n{"b":2}\n```', 'not one JSON object'],
    ['text\n```json\n{"a":1}\n```', 'does not begin with "{"'],
    ['```json\n{"a":1}\n```\ntext', 'does not begin with "{"'],
    ['~~~\n{"a":1}\n~~~', 'does not begin with "{"'],
    ['[{"a":1}]', 'JSON array'],
    ['"{}"', 'does not begin with "{"'],
    ['null', 'does not begin with "{"'],
    ['{a:1}', 'not one JSON object'],
    ['{"a":1,}', 'not one JSON object'],
    ['{"__proto__":{}}', '__proto__'],
    [`{"a":${'['.repeat(100)}${']'.repeat(100)}}`, 'nested deeper'],
  ])('%j is not', (text, why) => {
    const read = soleObject(text, loose);
    expect(read.ok ? [] : read.errors.join()).toContain(why);
  });

  test('an object is read as it was written, and nothing may stand after it', () => {
    const objects = fc.dictionary(
      fc.string().filter((key) => key !== '__proto__'),
      fc.jsonValue({ maxDepth: 2 }).filter((value) => !JSON.stringify(value).includes('__proto__')),
    );
    const around = fc.string().filter((text) => text.trim() !== '');
    fc.assert(
      fc.property(objects, around, (value, text) => {
        const written = JSON.stringify(value);
        expect(soleObject(written, strict)).toEqual({ ok: true, value: JSON.parse(written) });
        expect(soleObject(`${written}${text}`, loose).ok).toBe(false);
      }),
    );
  });

  test('an answer that is far too long is refused before it is parsed', () => {
    const read = soleObject(`{"a":[${'{},'.repeat(700_000)}{}]}`, loose);
    expect(read.ok ? [] : read.errors.join()).toContain('at most 2097152 are read');
  });
});
