import { expect, test } from '@jest/globals';
import { judge, markOf } from './judge.ts';
import { faultTable, speedTable } from './table.ts';

const ask = (chat: number, count: number) => Array.from({ length: count }, (_, n) => ({ chat, n }));
let messageId = 0;
const answer = (chat: number, n: number) => {
  messageId += 1;
  return { chat, messageId, text: `${markOf({ chat, n })} is what you asked.` };
};
const notice = (chat: number) => ({ ...answer(chat, 0), text: 'Sorry.' });

test('an answer to each question in order is no fault', () => {
  const shown = [answer(1, 0), answer(2, 0), answer(1, 1), answer(2, 1)];
  const good = { asked: 4, answered: 4, told: 0, silent: 0, doubled: 0, reordered: 0 };
  expect(judge([...ask(1, 2), ...ask(2, 2)], shown)).toEqual(good);
});

test('an answer that stands twice, one behind a later one, one that is missing and one that is told of are told apart', () => {
  const shown = [answer(1, 1), answer(1, 0), answer(1, 0), answer(2, 0), notice(2)];
  expect(judge([...ask(1, 3), ...ask(2, 2)], shown)).toEqual({
    ...{ asked: 5, answered: 3, told: 1, silent: 1, doubled: 1, reordered: 1 },
  });
});

test('a notice beside an answer hides no question that nobody answered elsewhere, and [1/1] is not [1/11]', () => {
  expect(judge(ask(1, 1), [answer(1, 0), notice(1)])).toMatchObject({ told: 0, silent: 0 });
  expect(judge([{ chat: 1, n: 1 }], [answer(1, 11)])).toMatchObject({ answered: 0 });
});

const SPEED = {
  toModelP50Ms: 10,
  toModelP95Ms: 20,
  firstWordsP50Ms: 30,
  perSecond: 100,
  cpuMsOfATurn: 2,
  restMegabytes: 100,
  loadMegabytes: 200,
};

test('the table says which aim is missed', () => {
  const ours = { ...SPEED, toModelP50Ms: 16, perSecond: 70, cpuMsOfATurn: 3.2 };
  const lines = speedTable({ speeds: { 'plain BullMQ': [SPEED], Spillway: [ours] } }).split('\n');
  expect(lines[2]).toBe('| message to model, p50 | 10.0 ms | 16.0 ms | +6.00 ms | at most +5 ms, missed |');
  expect(lines[5]).toMatch(/\| 100 \| 70\.0 \| 0\.70 \| at least 0\.7 \|$/);
  expect(lines[6]).toMatch(/\| 1\.60 \| at most 1\.5, missed \|$/);
});

test('the table of faults names what is wrong, and a silence in bold', () => {
  const verdict = { asked: 5, answered: 2, told: 1, silent: 2, doubled: 1, reordered: 0 };
  expect(faultTable({ faults: [{ fault: 'x', verdicts: { plain: verdict } }] })).toBe(
    '|  | plain |\n| --- | --- |\n| x | 2 of 5 answered, 1 told of a failure, **2 without a word**, 1 twice |',
  );
});
