import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Block } from '../../../../worker/model/block.ts';
import { asShown } from '../../../../worker/session/overlay.ts';
import type { LogRecord, ScrubRecord, TrimRecord } from '../../../../worker/session/record.ts';
import { viewWithOrigins } from '../../../../worker/session/view.ts';
import { call, image, png, result, text, thinking } from '../../../fixture/content-blocks.ts';
import { assistantSays, heads, records, STAMP, userSays } from '../../../fixture/records.ts';
import { forAll } from '../../../fixture/texts.ts';

const SIGNED = { signature: 'EuYBCkQYAiJA0123456789==' };

function scrub(place: Partial<ScrubRecord>, words = 'left out'): LogRecord {
  return { ...STAMP, t: 'scrub', text: words, ...place };
}

function trim(what: TrimRecord['what'], through: string): LogRecord {
  return { ...STAMP, t: 'trim', what, through };
}

function contentsOf(shown: readonly LogRecord[]): unknown[] {
  return shown.flatMap((record) => (record.t === 'user' || record.t === 'assistant' ? [record.content] : []));
}

const ASKED = userSays('asked', { entry: '1-0', id: 'a' });
const OTHER = userSays('other', { id: 'b' });
const BLOCKS = userSays([text('a'), image(png(9, 9)), text('c')], { entry: '1-0' });
const RESULTS = userSays([result('t1', 'x'.repeat(99)), result('t2')], { id: 'results' });

test.each<[string, LogRecord[], unknown[]]>([
  [
    'of one block leaves the others',
    [BLOCKS, scrub({ entry: '1-0', block: 1 })],
    [[text('a'), text('left out'), text('c')]],
  ],
  [
    'of a result keeps it a result, so that its call stays paired',
    [RESULTS, scrub({ record: 'results', block: 0 })],
    [[{ ...result('t1'), content: 'left out' }, result('t2')]],
  ],
  ['by entry replaces its message', [ASKED, OTHER, scrub({ entry: '1-0' })], ['left out', 'other']],
  ['by record replaces that record', [ASKED, OTHER, scrub({ record: 'b' })], ['asked', 'left out']],
  ['of nothing changes nothing', [ASKED, OTHER, scrub({ entry: '9-9' }), scrub({ record: 'c' })], ['asked', 'other']],
  [
    'that is newer wins',
    [BLOCKS, scrub({ entry: '1-0', block: 1 }, 'first'), scrub({ entry: '1-0', block: 1 }, 'second')],
    [[text('a'), text('second'), text('c')]],
  ],
])('a scrub %s', (_, log, contents) => {
  expect(contentsOf(asShown(log))).toEqual(contents);
});

test('the mask of an old result names its call, its size and how it began', () => {
  const long = `First line\n${'x'.repeat(5_000)}`;
  const shown = asShown([
    userSays('find it'),
    assistantSays([call('t1', { name: 'search', input: { q: 'spillway' } })]),
    userSays([result('t1', long)], { id: 'old' }),
    trim('results', 'old'),
  ]);
  const [, , content] = contentsOf(shown) as [unknown, unknown, Block[]];
  expect(content).toEqual([
    {
      ...result('t1'),
      content: `[search {"q":"spillway"} returned ${long.length} characters, left out here. It began: First line]`,
    },
  ]);
});

test('a trim changes nothing after its record', () => {
  const long = 'y'.repeat(500);
  const calls = assistantSays([call('t1'), call('t2')]);
  const shown = asShown([
    calls,
    userSays([result('t1', long)], { id: 'old' }),
    userSays([result('t2', long)], { id: 'new' }),
    trim('results', 'old'),
  ]);
  const [, old, newer] = contentsOf(shown) as [unknown, Block[], Block[]];
  expect(old[0]?.content).not.toBe(long);
  expect(newer[0]?.content).toBe(long);
});

test('a mask never replaces a shorter result, and always replaces a picture', () => {
  const shown = asShown([
    userSays([result('t1', 'ok'), result('t2', [image(png(9, 9))])], { id: 'old' }),
    trim('results', 'old'),
  ]);
  const [content] = contentsOf(shown) as [Block[]];
  expect(content[0]).toEqual(result('t1', 'ok'));
  expect(content[1]?.content).toMatch(/^\[a tool \{\} returned/);
});

test('a mask is well-formed and never blank, also when it is cut inside an emoji', () => {
  for (const begin of [`${'a'.repeat(119)}😀😀`, '\ud83d', '', '\n\n\n']) {
    const old = userSays([result('t1', `${begin}${' '.repeat(900)}`)], { id: 'old' });
    const [[block]] = contentsOf(asShown([old, trim('results', 'old')])) as [[Block]];
    expect(String(block.content).isWellFormed()).toBe(true);
    expect(String(block.content).trim()).not.toBe('');
  }
});

test('trimmed thinking is absent from the view, and the origins of the other blocks keep their places', () => {
  const thought = assistantSays([thinking('hm', SIGNED), { type: 'redacted_thinking', data: 'eA==' }, text('b')]);
  const log = [userSays('a'), { ...thought, id: 'answer' } as LogRecord, userSays('c'), trim('thinking', 'answer')];
  const { messages, origins } = viewWithOrigins({ head: undefined, records: log, omitted: 0 });
  expect(messages[1]?.content).toEqual([text('b')]);
  expect(origins.get(messages[1]?.content[0])).toMatchObject({ record: { id: 'answer' }, block: 2 });
});

test('a trim whose record is no longer in the window changes nothing', () => {
  const log = [userSays('a'), assistantSays([thinking('hm', SIGNED), text('b')]), userSays('c')];
  expect(asShown([...log, trim('thinking', 'gone')])).toEqual([...log, trim('thinking', 'gone')]);
});

test('the origin of a block in a view is a block of the log', () => {
  forAll([heads, fc.array(records, { maxLength: 12 })], (head, log) => {
    const { messages, origins } = viewWithOrigins({ head, records: log, omitted: 0 });
    for (const block of messages.flatMap(({ content }) => content as unknown as Block[])) {
      const origin = origins.get(block);
      if (origin === undefined) continue;
      const { record, block: index } = origin;
      if (record.t !== 'user' && record.t !== 'assistant') throw new Error(`a block from a ${record.t}`);
      const content = asShown(log).filter((each) => each.t === record.t && each.id === record.id);
      expect(content.length).toBeGreaterThan(0);
      if (index === undefined) expect(typeof record.content).toBe('string');
      else expect((record.content[index] as Block).type).toBe(block.type);
    }
  });
});

/** An answer of the model to the message with this entry, or one that broke off, or the removal of its turn. */
const answered = (entry: string, ...content: Block[]) => ({ ...assistantSays(content), entry, model: 'm' });
const retried = (of: string, entry: string) => userSays('asked', { entry, retryOf: of });
const FIRST = [userSays('asked', { entry: '1-0' }), answered('1-0', text('first'))];
const OTHERS = [userSays('other', { entry: '3-0' }), answered('3-0', thinking('hm'), text('of others'))];

test.each<[string, LogRecord[], unknown[]]>([
  ['that waits hides the first answer', [...FIRST, retried('1-0', '2-0')], [[], [], 'asked']],
  [
    'that broke off or was removed does not',
    [...FIRST, retried('1-0', '2-0'), { ...answered('2-0', text('sec')), model: undefined } as never, ...OTHERS],
    ['asked', [text('first')], [], [], 'other', [thinking('hm'), text('of others')]],
  ],
  [
    'of a retry stands for both',
    [...FIRST, retried('1-0', '2-0'), answered('2-0', text('second')), retried('2-0', '4-0')],
    [[], [], [], [], 'asked'],
  ],
  [
    'behind another answer takes the thinking from that one, which was bound to what is hidden',
    [...FIRST, ...OTHERS, retried('1-0', '4-0'), answered('4-0', thinking('so'), text('last'))],
    [[], [], 'other', [text(''), text('of others')], 'asked', [thinking('so'), text('last')]],
  ],
  [
    'hides the message also where its turn was removed',
    [FIRST[0] as LogRecord, scrub({ entry: '1-0', turn: true }, 'removed'), retried('1-0', '2-0')],
    [[], 'asked'],
  ],
])('a retry %s', (_, log, contents) => {
  expect(contentsOf(asShown(log))).toEqual(contents);
});
