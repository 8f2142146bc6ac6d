import { expect, test } from '@jest/globals';
import { randomCode, sightCode } from '../../../setup/listen.ts';

const CODE = '01234567';

function said(updateId: number, text: unknown, chatId = 1001, type = 'private'): object {
  return { update_id: updateId, message: { chat: { id: chatId, type }, text } };
}

test('the code is found as it is typed, with gaps, and as a link sends it', () => {
  for (const text of [CODE, ' 0123 4567 ', '0123-4567', `/start ${CODE}`, `/start@some_bot ${CODE}`]) {
    expect(sightCode([said(1, text)], CODE, 'private')).toEqual({
      kind: 'found',
      chatId: 1001,
      updateId: 1,
      isFirst: true,
    });
  }
});

test('a code within other words, or another code, is none; whoever wrote it is a stranger, and is named once', () => {
  const updates = [said(1, `is it ${CODE}`, 5), said(2, '01234568', 5), said(3, 'hi', 6)];
  expect(sightCode(updates, CODE, 'private')).toEqual({ kind: 'none', strangers: [5, 6], isMisplaced: false });
});

test('what waited before is of no stranger, and still comes before the code', () => {
  const updates = [said(1, 'hello', 5), said(2, 'me too', 6)];
  expect(sightCode(updates, CODE, 'private', new Set([1]))).toMatchObject({ strangers: [6] });
  expect(sightCode([...updates, said(3, CODE)], CODE, 'private', new Set([1, 2]))).toMatchObject({ isFirst: false });
});

test('a code in the wrong kind of chat is misplaced', () => {
  expect(sightCode([said(1, CODE, -5, 'group')], CODE, 'private')).toMatchObject({ kind: 'none', isMisplaced: true });
  expect(sightCode([said(1, CODE)], CODE, 'group')).toMatchObject({ kind: 'none', isMisplaced: true });
  expect(sightCode([said(1, CODE, -5, 'supergroup')], CODE, 'group')).toMatchObject({ kind: 'found', chatId: -5 });
});

test('the code is first when nothing waits before it but the own hello', () => {
  const isFirst = (...before: unknown[]) => sightCode([...before, said(9, CODE)], CODE, 'private');
  expect(isFirst(said(1, '/start'))).toMatchObject({ isFirst: true });
  expect(isFirst(said(1, 'a question'))).toMatchObject({ isFirst: false });
  expect(isFirst(said(1, '/start', 5))).toMatchObject({ isFirst: false });
  expect(isFirst({ update_id: 1, message: { chat: { id: 1001 }, photo: [] } })).toMatchObject({ isFirst: false });
});

test('updates of any shape are taken', () => {
  const odd = [
    null,
    'x',
    {},
    { update_id: 1 },
    { update_id: 2, message: null },
    said(3, 7),
    { update_id: 4, message: {} },
  ];
  expect(sightCode(odd, CODE, 'private')).toEqual({ kind: 'none', strangers: [], isMisplaced: false });
});

test('codes have eight digits and differ', () => {
  const codes = Array.from({ length: 50 }, randomCode);
  expect(codes.every((code) => /^\d{8}$/.test(code))).toBe(true);
  expect(new Set(codes).size).toBeGreaterThan(45);
});
