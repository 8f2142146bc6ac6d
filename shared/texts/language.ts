import { EN } from './en.ts';
import { ZH_HANT } from './zh-hant.ts';

/** The texts of each language, by the code in a chat's settings. To add a language, add its table here. */
export const TEXTS = { en: EN, 'zh-hant': ZH_HANT } as const satisfies Record<string, Texts>;

export type Language = keyof typeof TEXTS;

export const LANGUAGES = Object.keys(TEXTS) as readonly Language[];

/** The language for a person whose language is unknown. */
export const DEFAULT_LANGUAGE: Language = 'en';

/**
 * The language for an IETF language tag, such as `zh-TW`, which Telegram states for a person's app. Ignores script and region,
 * so every Chinese tag gets the Chinese texts. A tag of any other language gets `DEFAULT_LANGUAGE`. Pure.
 */
export function languageOf(code: string | undefined): Language {
  const [spoken = ''] = (code ?? '').toLowerCase().split(/[-_]/);
  return LANGUAGES.find((language) => language.split('-')[0] === spoken) ?? DEFAULT_LANGUAGE;
}

/** The texts in the language that was chosen or, without a known choice, in the language of a person's app. Pure. */
export function textsFor(chosen: string | undefined, appLanguage: string | undefined): Texts {
  const language = LANGUAGES.find((known) => known === chosen) ?? languageOf(appLanguage);
  return TEXTS[language];
}

/** The texts of one language. Each language is one table of this type, so none can lack a text. */
export type Texts = typeof EN;

/** The reasons why the model cannot read a user's file. */
export type FileProblem = keyof Texts['fileProblem'];

/** The first message of a new bot to the person who has set it up: three things to try. */
export const GREETING: Readonly<Record<Language, string>> = {
  en: `👋 Hello! I'm set up. Once I'm started (npm start), try this:

1. Ask me something, or forward me a message and say what you want to know about it.
2. Send me a photo or a PDF with a question.
3. Write “Remind me in ten minutes to stretch my legs”, or “Remember that I'm a vegetarian”.

/help shows what else I can do. If you write before I'm running, I'll answer as soon as I am.`,
  'zh-hant': `👋 你好！設定完成了。等我啟動（npm start）之後，可以先試試這三件事：

1. 問我一個問題，或是轉傳一則訊息給我，告訴我你想知道什麼。
2. 傳一張照片或一份 PDF，附上你的問題。
3. 傳「十分鐘後提醒我起來走走」，或「記住我吃素」。

輸入 /help 可以看到其他功能。啟動前傳來的訊息，我會在啟動後回答。`,
};
