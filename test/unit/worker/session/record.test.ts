import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { estimateContent } from '../../../../worker/model/estimate.ts';
import {
  decodeRecord,
  encodeRecord,
  isEntry,
  type LogRecord,
  startsTurn,
  textOf,
} from '../../../../worker/session/record.ts';
import { view } from '../../../../worker/session/view.ts';
import { call, result, text } from '../../../fixture/content-blocks.ts';
import { assistantSays, records, STAMP, userSays } from '../../../fixture/records.ts';
import { forCases, rawTexts } from '../../../fixture/texts.ts';

const USER = userSays('Hello', { entry: '1-0', channel: 'Telegram private chat 5', from: 'Ann' });

test('a record is read back as it was written, lone surrogates included', () => {
  forCases(500, [records], (record) => {
    expect(decodeRecord(encodeRecord(record))).toEqual(record);
  });
});

test('an answer is kept verbatim: unknown blocks, unknown fields, usage and signatures', () => {
  const answer: LogRecord = {
    ...STAMP,
    t: 'assistant',
    content: [{ type: 'hologram', data: { deep: [1, null, 'x'] } }, call('toolu_1', { caller: { type: 'direct' } })],
    entry: '1-0',
    model: 'claude-opus-5-5',
    stopReason: null,
    usage: { inputTokens: 10, outputTokens: 2 },
  };
  expect(decodeRecord(encodeRecord(answer))).toEqual(answer);
});

const shapes = fc.oneof(
  rawTexts(60),
  fc.json(),
  fc
    .dictionary(
      fc.constantFrom('v', 't', 'id', 'at', 'content', 'entry', 'from', 'channel', 'text', 'summary', 'parent'),
      fc.oneof(fc.constantFrom<unknown>(1, 'user', 'assistant', 'scrub', '', null, []), fc.jsonValue({ maxDepth: 3 })),
    )
    .map((over) => JSON.stringify({ v: 1, t: 'user', id: 'x', at: '', content: 'said', ...over })),
);

test('decodeRecord never throws, and every record that it returns can be used in a view', () => {
  forCases(500, [fc.array(shapes, { maxLength: 6 })], (lines) => {
    const read = lines.map(decodeRecord);
    expect(read).toHaveLength(lines.length);
    for (const record of read) {
      expect(['user', 'assistant', 'compaction', 'seed', 'scrub', 'torn']).toContain(record.t);
      expect(isEntry(record) || !startsTurn(record)).toBe(true);
      if (record.t !== 'user' && record.t !== 'assistant') continue;
      expect(typeof textOf(record.content)).toBe('string');
      expect(estimateContent(record.content)).toBeGreaterThanOrEqual(0);
    }
    expect(view({ head: read[0], records: [...read, USER], omitted: 0 }).at(-1)?.role).toBe('user');
  });
});

test.each<[string, unknown]>([
  ['no text', ''],
  ['half a record', encodeRecord(USER).slice(0, -1)],
  ['an array', '[]'],
  ['null', 'null'],
  ['a number', '5'],
  ['an unknown version', { ...USER, v: 2 }],
  ['no version', { ...USER, v: undefined }],
  ['an unknown kind', { ...USER, t: 'event' }],
  ['no id', { ...USER, id: undefined }],
  ['no time', { ...USER, at: 5 }],
  ['no content', { ...USER, content: undefined }],
  ['content that is an object', { ...USER, content: {} }],
  ['a block without a type', { ...USER, content: [{ text: 'x' }] }],
  ['a block that is null', { ...USER, content: [null] }],
  ['a null summary', { ...STAMP, t: 'compaction', summary: null }],
  ['a seed without a text', { ...STAMP, t: 'seed' }],
  ['a scrub without a target', { ...STAMP, t: 'scrub', text: 'x' }],
  ['a scrub without a text', { ...STAMP, t: 'scrub', entry: '1-0' }],
  ['an entry that is a number', { ...USER, entry: 5 }],
  ['a sender that is an object', { ...USER, from: { toString: 1 } }],
  ['a channel that is an array', { ...USER, channel: [] }],
])('a line with %s is torn: it is not shown, and the other records keep their place', (_, line) => {
  const torn = decodeRecord(typeof line === 'string' ? line : JSON.stringify(line));
  expect(torn).toEqual({ v: 1, t: 'torn', id: '', at: '' });
  expect(decodeRecord(encodeRecord(torn))).toEqual(torn);
  const window = { head: undefined, records: [USER, torn, assistantSays('Hi'), torn], omitted: 0 };
  expect(view(window)).toEqual(view({ ...window, records: [USER, assistantSays('Hi')] }));
});

test('a turn starts at a message of a user, and never at tool results, answers or seeds', () => {
  expect(startsTurn(userSays('a'))).toBe(true);
  expect(startsTurn(userSays([text('a')]))).toBe(true);
  expect(startsTurn(userSays([result('toolu_1'), text('a')]))).toBe(false);
  expect(startsTurn(assistantSays('a'))).toBe(false);
  expect(startsTurn({ ...STAMP, t: 'seed', text: 'a', parent: '', records: 0 })).toBe(false);
});

test('textOf joins the text blocks of a message, without calls and results', () => {
  expect(textOf('a')).toBe('a');
  expect(textOf([text('a'), call('toolu_1'), result('toolu_1', 'r'), { type: 'text', text: 5 }, text('b')])).toBe(
    'a\nb',
  );
});
