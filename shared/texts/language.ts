import { EN } from './en.ts';
import { ZH_HANT } from './zh-hant.ts';

/** The languages, by the code that is stored for a chat. A further one is one more table here. */
export const TEXTS = { en: EN, 'zh-hant': ZH_HANT } as const satisfies Record<string, Texts>;

export type Language = keyof typeof TEXTS;

export const LANGUAGES = Object.keys(TEXTS) as readonly Language[];

/** The language of whom nothing is known. */
export const DEFAULT_LANGUAGE: Language = 'en';

/**
 * The language for a code of IETF's kind, such as Telegram states for a person's app: `zh-TW`, `en`. The script of a
 * code decides less than its language: who reads any Chinese gets the Chinese texts. Pure.
 */
export function languageOf(code: string | undefined): Language {
  const [spoken = ''] = (code ?? '').toLowerCase().split(/[-_]/);
  return LANGUAGES.find((language) => language.split('-')[0] === spoken) ?? DEFAULT_LANGUAGE;
}

/** The texts for a stored choice, or else for the language of a person's app. Pure. */
export function textsFor(chosen: string | undefined, appLanguage: string | undefined): Texts {
  const language = LANGUAGES.find((known) => known === chosen) ?? languageOf(appLanguage);
  return TEXTS[language];
}

/** The texts of one language. Each language is one table of this type, so none can lack a text. */
export type Texts = typeof EN;

/** Why a user's file cannot be shown to the model. */
export type FileProblem = keyof Texts['fileProblem'];
