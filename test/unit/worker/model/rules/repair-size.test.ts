import { expect, test } from '@jest/globals';
import { repairRequest } from '../../../../../worker/model/rules/repair.ts';
import { one, say, times } from '../../../../fixture/contract-cases.ts';
import { type Done, repaired } from '../../../../fixture/repair-cases.ts';
import { FACTS } from '../../../../fixture/requests.ts';
import type { Block } from '../../../../stand-in/claude/request.ts';
import { assistant, call, image, pages, png, result, user } from '../../../../stand-in/claude/specimens.ts';

const small = (bodyBytesMax: number) => ({ ...FACTS, bodyBytesMax });
const file = (chars: number): Block => ({
  type: 'document',
  source: { type: 'text', media_type: 'text/plain', data: 'd'.repeat(chars) },
});

test('a request that is too large loses old media first, then long texts, and the pending text last', () => {
  const photo = image(png(9, 9, 30_000));
  const old = user(image(png(9, 9, 60_000)), pages(1), 'l'.repeat(50_000));
  const request = say(old, assistant('short'), user(photo, file(20_000), `PENDING ${'w'.repeat(30_000)}`));
  const done = (bytes: number): Done[] => repaired(request, small(bytes)).done;
  const [media, longText, newPhoto, newFile, words] = [
    ['placeholder', 'messages.0.content.0'],
    ['shortened', 'messages.0.content.2'],
    ['placeholder', 'messages.2.content.0'],
    ['shortened', 'messages.2.content.1'],
    ['shortened', 'messages.2.content.2'],
  ] as const;
  expect(done(180_000)).toEqual([media]);
  expect(done(130_000)).toEqual([media, ['placeholder', 'messages.0.content.1'], longText]);
  expect(done(80_000).slice(-1)).toEqual([newPhoto]);
  expect(done(45_000).slice(-3)).toEqual([longText, newPhoto, newFile].slice(-3));
  expect(done(14_000).slice(-1)).toEqual([words]);
  const kept = repaired(request, small(130_000)).messages;
  expect(JSON.stringify(kept)).toMatch(/lll\\n\[… 50000 characters in all, the middle left out …\]\\nlll/);
  expect(JSON.stringify(kept).length).toBeGreaterThan(129_000);
});

test('drops the oldest of many small messages, and no more than necessary', () => {
  const crowd = times(500, [
    user('q'.repeat(500)),
    assistant(call('t')),
    user(result('t', 'r'.repeat(500))),
    assistant('ok'),
  ]).flat();
  const renamed = crowd.map((message, at) => JSON.parse(JSON.stringify(message).replaceAll('"t"', `"t${at >> 2}"`)));
  const { messages, done } = repaired(say(...renamed, user('PENDING')), small(100_000));
  expect(Buffer.byteLength(JSON.stringify(messages))).toBeGreaterThan(98_000);
  expect(messages.at(-1)).toEqual(user('PENDING'));
  expect(new Set(done.map(([what]) => what))).toEqual(new Set(['dropped_message']));
});

test('reports a body-size violation that no fix can remove, and leaves the request unchanged', () => {
  const huge = { ...one, system: 's'.repeat(50_000) };
  expect(repairRequest(huge, small(20_000))).toEqual({
    request: huge,
    repairs: [],
    left: [expect.objectContaining({ rule: 'body-size' })],
  });
});

test('drops a call that is too large with all messages before it, and its result', () => {
  const huge = call('t1', { input: { file: 'f'.repeat(60_000) } });
  const { messages, done } = repaired(say(user('a'), assistant(huge), user(result('t1'), 'PENDING')), small(20_000));
  expect(messages).toEqual([user('PENDING')]);
  expect(done.map(([what]) => what)).toEqual(['dropped_message', 'dropped_message', 'dropped_result']);
});

test('accepts a body of exactly the limit, and keeps max_tokens of 1', () => {
  const request = { ...say(user('a'), assistant('b'), user('c', '')), max_tokens: 1 };
  const bytes = JSON.stringify({ ...request, messages: [user('a'), assistant('b'), user('c')] }).length;
  const { request: fixed, done } = repaired(request, small(bytes));
  expect(done).toHaveLength(1);
  expect(fixed.max_tokens).toBe(1);
});
