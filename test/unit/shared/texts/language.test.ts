import { expect, test } from '@jest/globals';
import { EN } from '../../../../shared/texts/en.ts';
import { languageOf, textsFor } from '../../../../shared/texts/language.ts';
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
