import { expect, test } from '@jest/globals';
import { EN } from '../../../../shared/texts/en.ts';
import { LANGUAGES, languageOf, TEXTS, textsFor } from '../../../../shared/texts/language.ts';
import { ZH_HANT } from '../../../../shared/texts/zh-hant.ts';

test.each([
  ...['zh-hant', 'zh-TW', 'zh_hk', 'zh'].map((code) => [code, 'zh-hant'] as const),
  ...['en', 'en-GB', 'de', '', undefined].map((code) => [code, 'en'] as const),
])('the app language %s gets the texts of %s', (code, language) => {
  expect(languageOf(code)).toBe(language);
});

test.each([
  ['zh-hant', 'en', ZH_HANT],
  ['en', 'zh-hant', EN],
  [undefined, 'zh-tw', ZH_HANT],
  // What this version does not know counts as none.
  ['tlh', 'zh', ZH_HANT],
  ['toString', undefined, EN],
])("a chat's choice %s comes before the language %s of an app", (choice, ofApp, texts) => {
  expect(textsFor(choice, ofApp)).toBe(texts);
});

/** Every text of a table, by its path; a function is called with what stands for any value. */
function textsOf(table: object, path = ''): [path: string, text: string][] {
  return Object.entries(table).flatMap(([name, value]) => {
    const at = `${path}${name}`;
    if (typeof value === 'string') return [[at, value] as [string, string]];
    if (typeof value === 'function') return [[at, String(value)] as [string, string]];
    return textsOf(value as object, `${at}.`);
  });
}

test.each(LANGUAGES)('in %s no text is empty, too long for one message, or padded', (language) => {
  for (const [, text] of textsOf(TEXTS[language])) {
    expect(text.trim()).toBe(text);
    expect(text.length).toBeGreaterThan(0);
    expect(text.length).toBeLessThan(4_096);
  }
});

test('no sentence was left in English', () => {
  const english = new Map(textsOf(EN));
  const same = textsOf(ZH_HANT).filter(([path, text]) => english.get(path) === text);
  expect(same).toEqual([]);
});
