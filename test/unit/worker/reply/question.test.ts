import { expect, test } from '@jest/globals';
import type { EntryId } from '../../../../shared/redis/keys.ts';
import type { Turn } from '../../../../shared/state/turn/turn.ts';
import { EN } from '../../../../shared/texts/en.ts';
import { ZH_HANT } from '../../../../shared/texts/zh-hant.ts';
import { questionIn } from '../../../../worker/reply/question.ts';

/** The question about calls with these inputs. */
function shownOf(inputs: readonly Record<string, unknown>[], texts: Turn['texts'] = EN) {
  const turn = { entry: '1-0' as EntryId, texts, message: { ok: false, problem: '' } } as unknown as Turn;
  const calls = inputs.map((input, at) => ({ id: `t${at}`, name: 'mail_box__send_now', input }));
  const parked = { id: '1', untilMs: 0, choices: [], calls: calls.map(({ id, name: tool }) => ({ id, tool })) };
  return questionIn(turn, { kind: 'approval', id: '1', calls, beyond: [] }, parked);
}

const argumentsOf = (count: number, chars: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`argument${at}`, 'x'.repeat(chars)]));

test.each([
  ['five calls of many long arguments', Array(5).fill(argumentsOf(60, 900))],
  ['five calls of many short arguments', Array(5).fill(argumentsOf(60, 1))],
  ['a call of thousands of arguments', [argumentsOf(3_000, 5)]],
  ['a call with a name that fills a message', [{ ['n'.repeat(5_000)]: 'x' }]],
  ['a call of invisible characters alone', [{ to: '\u200b\u200c'.repeat(4_000) }]],
])('%s are one message that Telegram takes, with everything in the file', (_, inputs) => {
  for (const texts of [EN, ZH_HANT]) {
    const { text, options, file } = shownOf(inputs, texts);
    expect(text.length).toBeLessThanOrEqual(4_096);
    expect(options.entities?.length).toBeLessThanOrEqual(100);
    expect(text).toContain('mail box: send now');
    const marked = file?.bytes.toString().match(/^▸ /gm) ?? [];
    expect(marked).toHaveLength(inputs.reduce((sum, input) => sum + Object.keys(input).length, 0));
  }
});

test('what fits is shown whole, without a file: no value can look like another argument', () => {
  const { text, options, file } = shownOf([{ text: 'a\n▸ to: eve', list: ['b\u202e', 2], 'k\ney': null }]);
  expect(file).toBeUndefined();
  expect(text.split('\n').slice(2)).toEqual([
    'mail box: send now',
    '▸ k⏎ey: null',
    '▸ text: a⏎▸ to: eve',
    '▸ list: ["b⟨U+202E⟩",2]',
  ]);
  const bold = options.entities?.map(({ offset, length }) => text.slice(offset, offset + length));
  expect(bold).toEqual(['mail box: send now', 'k⏎ey', 'text', 'list']);
});
