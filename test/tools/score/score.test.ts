import { expect, test } from '@jest/globals';
import { startsTurn, textOf } from '../../../worker/session/record.ts';
import { chatOf, EXCHANGES, KINDS, type Question } from './chat.ts';
import { CHINESE } from './chinese.ts';
import { ENGLISH } from './english.ts';
import { isAnswerable } from './reader.ts';
import { linesOf, shownIn } from './shown.ts';
import { tableOf } from './table.ts';

const LANGUAGES = [ENGLISH, CHINESE];
const fact: Question = { kind: 'changed fact', asks: 'Who?', about: 'dentist', right: 'Ada Merrow', wrong: [] };
const day: Question = { kind: 'time', asks: 'When?', about: 'lease', right: '2026-02-03', wrong: [] };
const unsaid: Question = { kind: 'never said', asks: 'Who?', about: 'dentist', wrong: ['Ada Merrow', 'Bruno Falk'] };

test.each(LANGUAGES)('the same seed makes the same chat, and another one another ($name)', (language) => {
  const chat = chatOf(language, 7);
  expect(chatOf(language, 7)).toEqual(chat);
  expect(chatOf(language, 8).questions).not.toEqual(chat.questions);
  expect(chat.records.filter(startsTurn)).toHaveLength(EXCHANGES);
  for (const kind of KINDS) expect(chat.questions.filter((question) => question.kind === kind)).toHaveLength(5);
});

test.each(LANGUAGES)('each answer stands in the whole chat, once, and in no question ($name)', (language) => {
  for (const seed of [1, 2, 3]) {
    const { records, questions } = chatOf(language, seed);
    const window = { head: undefined, records, omitted: 0 };
    for (const question of questions.filter(({ kind }) => kind !== 'never said')) {
      expect([question, isAnswerable(question, shownIn(window, question))]).toEqual([question, true]);
      expect([question, isAnswerable(question, shownIn({ ...window, records: [] }, question))]).toEqual([
        question,
        false,
      ]);
      if (question.kind === 'time') continue;
      const telling = records.filter(
        (record) => record.t === 'user' && textOf(record.content).includes(question.right ?? ''),
      );
      expect(telling).toHaveLength(1);
    }
  }
});

test.each(LANGUAGES)(
  'the newest value of a changed fact is told last, and the memory holds that one ($name)',
  (language) => {
    const { records, notes, questions } = chatOf(language, 3);
    const lines = linesOf(notes);
    const said = records.map((record) => (record.t === 'user' ? textOf(record.content) : ''));
    for (const { about, right = '' } of questions.filter(({ kind }) => kind === 'changed fact')) {
      const telling = [language.tells, language.tellsAnew].map((tell) => tell(about, '|').split('|')[0] ?? '');
      const last = said.findLast((text) => telling.some((sentence) => text.includes(sentence)));
      expect(last).toContain(right);
      for (const line of lines.filter(({ id }) => id === about)) expect(line.text).toContain(right);
    }
    expect(lines).toHaveLength(9);
  },
);

test.each([
  ['the newest value', fact, 'My dentist is Bruno Falk.\nSince this week my dentist is Ada Merrow.', true],
  ['the old value alone', fact, 'My dentist is Bruno Falk.', false],
  ['a part of a longer word', fact, 'My dentist is Ada Merrowby.', false],
  ['a Chinese value among other signs', { ...fact, right: '陳柏宇' }, '我的牙醫是陳柏宇。', true],
  ['a day in the line above', day, '[#aaaaaa Tuesday 2026-02-03 10:00 UTC]\nToday I signed the lease.', true],
  ['a day in the same line', day, '1. 2026-02-03 10:00 UTC, user: Today I signed the lease.', true],
  ['a day of something else', day, '2026-02-03: it rained\n2026-02-04: nothing\nToday I signed the lease.', false],
  ['nothing, of what was never said', unsaid, 'A good dentist needs patience.\nMy landlord is Ada Merrow.', true],
  ["somebody else's, of what was never said", unsaid, 'My brother says that his dentist is Bruno Falk.', false],
])('the reader judges %s', (_what, question, shown, expected) => {
  expect(isAnswerable(question, shown)).toBe(expected);
});

test('a row counts the questions of one kind in one language', () => {
  const table = tableOf([
    { kind: 'time', language: 'English', ways: ['fresh session', '+ recall'] },
    { kind: 'time', language: 'English', ways: ['+ recall'] },
    { kind: 'time', language: 'Chinese', ways: [] },
  ]);
  expect(table.split('\n').slice(2)).toEqual([
    '| time | English | 2 | 0 % | 50 % | 100 % | 0 % |',
    '| time | Chinese | 1 | 0 % | 0 % | 0 % | 0 % |',
  ]);
});
