import { expect, test } from '@jest/globals';
import type { LogRecord } from '../../../../worker/session/record.ts';
import { openCode, view, type Window, withToolsOf } from '../../../../worker/session/view.ts';
import { text, thinking } from '../../../fixture/content-blocks.ts';
import { assistantSays, userSays } from '../../../fixture/records.ts';

const of = (...all: LogRecord[]): Window => ({ head: undefined, records: all, omitted: 0 });

test('an answer that is not shown ends no run: what the model sees as one message has one code', () => {
  const [first, , second] = view(
    of(userSays('One', { header: '[#aaaaaa One]' }), assistantSays(' '), userSays('Two', { header: '[#bbbbbb Two]' })),
  ).flatMap(({ content }) => content as { text: string }[]);
  expect([first?.text, second?.text]).toEqual(['[#aaaaaa One]', '[#aaaaaa Two]']);
});

const hers = userSays('Hi', { header: '[#aaaaaa "Alice" writes]' });
const his = userSays('Hi', { header: '[#bbbbbb "Gus" writes]' });

test.each<[string, LogRecord[], string | undefined]>([
  ['the first since the newest answer', [hers, assistantSays('Yes'), his, hers], '#bbbbbb'],
  ['none behind an answer', [hers, assistantSays('Yes')], undefined],
  ['that from before an answer that is not shown', [hers, assistantSays(' '), his], '#aaaaaa'],
  [
    'none of a message that is not shown, or that carries none',
    [{ ...hers, content: ' ' }, userSays('Hi'), his],
    '#bbbbbb',
  ],
])('the open code is %s', (_, all, code) => {
  expect(openCode(all)).toBe(code);
});

test('an answer that was given with the other tools comes without its thinking and its size', () => {
  const usage = { inputTokens: 9, outputTokens: 9, passes: [] };
  const own = { ...assistantSays([thinking('hm'), text('own')]), usage } as unknown as LogRecord;
  const guests = {
    ...assistantSays([thinking('hm'), text('theirs')]),
    isForGuest: true,
    usage,
  } as unknown as LogRecord;
  const plain = { ...guests, content: 'plain' } as LogRecord;
  const window = of(hers, own, guests, plain);
  const { usage: _, ...bare } = plain as typeof plain & { usage: unknown };
  expect(withToolsOf(window, false)).toEqual(
    of(hers, own, { ...bare, content: [text(''), text('theirs')] } as LogRecord, bare as LogRecord),
  );
  expect(withToolsOf(window, true).records[1]).toEqual(assistantSays([text(''), text('own')]));
  expect(withToolsOf(window, true).records.slice(2)).toEqual([guests, plain]);
  const alone = of(hers, own);
  expect(withToolsOf(alone, false)).toBe(alone);
});
