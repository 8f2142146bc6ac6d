import { expect, test } from '@jest/globals';
import { LANGUAGES, TEXTS } from '../../shared/texts/language.ts';
import { CAUSES } from '../../worker/alerts/causes.ts';
import { runFile } from '../fixture/command.ts';
import { alertRows, sentenceRows, sentencesIn, userRows } from '../tools/transcript/texts.ts';

/** The paths of all texts of a table. */
function pathsIn(table: object, path = ''): string[] {
  return Object.entries(table).flatMap(([key, text]) =>
    typeof text === 'object' ? pathsIn(text as object, `${path}${key}.`) : [`${path}${key}`],
  );
}

test.each(LANGUAGES)('the list has each text of %s: filled in, not padded, and not too long', (language) => {
  const rows = userRows();
  expect(rows.map(({ name }) => name)).toEqual([...pathsIn(TEXTS[language]), 'GREETING']);
  const isWrong = (text: string) => text === '' || text.length >= 4_096 || /^\s|\s$|undefined|NaN|\[object/.test(text);
  expect(rows.filter(({ texts }) => (texts[language] ?? ['']).some(isWrong))).toEqual([]);
});

test('no sentence was left in English', () => {
  expect(userRows().filter(({ texts }) => String(texts.en) === String(texts['zh-hant']))).toEqual([]);
});

test('the list has each cause with its title, what its alerts say, and where it has one its end', () => {
  const rows = alertRows();
  expect(rows.map(({ name }) => name)).toEqual(Object.keys(CAUSES));
  const isPoor = (texts: readonly string[] = []) => !/^(?:🔴|🟡|⚪️) [\w ]+: /u.test(texts[0] ?? '') || texts.length < 2;
  expect(rows.filter(({ texts }) => isPoor(texts.en))).toEqual([]);
  expect(new Set(sentenceRows().map(({ occasion }) => occasion)).size).toBe(6);
});

test('a literal that reads as a sentence is found, with `{…}` for its values; a comment or a regular expression is not', () => {
  const template = `\`All of \${b.map(({ c }) => c)} are put back\${e ? \` as \${f}\` : ''}\``;
  const source = `/** Not this one here. */\nconst a = ${template};\nconst g = "It isn't known here.";\nconst h = /not this here/;`;
  expect(sentencesIn(source)).toEqual(['All of {…} are put back{…}', "It isn't known here."]);
});

test('npm run transcript -- --texts prints the list, without Redis', async () => {
  const { code, stdout } = await runFile('test/tools/transcript/main.ts', ['--texts'], { PATH: '' });
  expect([code, stdout.match(/^# .*(?= \(\d+\)$)/gm)]).toEqual([
    0,
    ['# Users', '# Operators: alerts', '# Operators: other sentences'],
  ]);
});
