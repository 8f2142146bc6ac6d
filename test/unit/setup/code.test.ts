import { expect, test } from '@jest/globals';
import { findCode, randomCode } from '../../../setup/listen.ts';

const CODE = '01234567';
const NONE = { kind: 'none', strangers: [], isMisplaced: false };

const said = (updateId: number, text: unknown, chatId = 1001, type = 'private') => ({
  update_id: updateId,
  message: { chat: { id: chatId, type }, text },
});

test.each([CODE, ' 0123 4567 ', '0123-4567', `/start ${CODE}`, `/start@some_bot ${CODE}`])('%j is the code', (text) => {
  const found = { kind: 'found', chatId: 1001, updateId: 1, isFirst: true };
  expect(findCode([said(1, text)], CODE, 'private')).toEqual(found);
});

test('a code within other words, or another code, is none; whoever wrote it is a stranger, and is named once', () => {
  const updates = [said(1, `is it ${CODE}`, 5), said(2, '01234568', 5), said(3, 'hi', 6), said(4, '/start', 7)];
  expect(findCode(updates, CODE, 'private')).toEqual({ ...NONE, strangers: [5, 6] });
});

test('what waited before is of no stranger, and still comes before the code', () => {
  const updates = [said(1, 'hello', 5), said(2, 'me too', 6)];
  expect(findCode(updates, CODE, 'private', new Set([1]))).toMatchObject({ strangers: [6] });
  expect(findCode([...updates, said(3, CODE)], CODE, 'private', new Set([1, 2]))).toMatchObject({ isFirst: false });
});

test.each([
  ['private', said(1, CODE, -5, 'group'), { kind: 'none', isMisplaced: true }],
  ['group', said(1, CODE), { kind: 'none', isMisplaced: true }],
  ['group', said(1, CODE, -5, 'supergroup'), { kind: 'found', chatId: -5 }],
] as const)('for a %s chat, whether the code is misplaced: %j', (wanted, update, expected) => {
  expect(findCode([update], CODE, wanted)).toMatchObject(expected);
});

test.each([
  [true, said(1, '/start')],
  [false, said(1, 'a question')],
  [false, said(1, '/start', 5)],
  [false, { update_id: 1, message: { chat: { id: 1001 }, photo: [] } }],
])('that nothing but the own hello waited before the code is %s: %j', (isFirst, before) => {
  expect(findCode([before, said(9, CODE)], CODE, 'private')).toMatchObject({ isFirst });
});

test('updates of any shape are taken', () => {
  const [bare, empty] = [
    { update_id: 2, message: null },
    { update_id: 4, message: {} },
  ];
  const odd = [null, 'x', {}, { update_id: 1 }, bare, said(3, 7), empty];
  expect(findCode(odd, CODE, 'private')).toEqual(NONE);
});

test('codes have eight digits and differ', () => {
  const codes = Array.from({ length: 50 }, randomCode);
  expect(codes.filter((code) => !/^\d{8}$/.test(code))).toEqual([]);
  expect(new Set(codes).size).toBeGreaterThan(45);
});
