import { chatState } from '../../shared/state/chat/chat.ts';
import { LANGUAGES, languageOf, TEXTS } from '../../shared/texts/language.ts';
import { type CommandHandler, replied } from './command.ts';

/** `/lang <code|auto>`: the language of notices; without a code it says which, and offers all. */
export const lang: CommandHandler = ({ turn, words }) => {
  const { texts, message } = turn;
  const chat = chatState(turn.keys, turn.chat);
  const buttons = [LANGUAGES.map((language) => ({ text: TEXTS[language].languageName, command: `/lang ${language}` }))];
  const word = words.toLowerCase();
  if (word === '') return replied('lang', texts.languageIs, { buttons });
  if (word === 'auto') {
    const { language } = turn.chatSettings;
    const { languageAuto } = TEXTS[languageOf(message.ok ? message.value.from.language : undefined)];
    const text = language === undefined ? languageAuto : TEXTS[language].languageIs;
    return replied('lang', text, { changes: [chat.leaveToDefault('language')] });
  }
  // By its code, or by the part of the code before its script.
  const chosen = LANGUAGES.find((code) => code === word || code.split('-')[0] === word.split('-')[0]);
  if (chosen === undefined) return replied('lang', texts.languageUnknown(LANGUAGES), { buttons });
  return replied('lang', TEXTS[chosen].languageIs, { changes: [chat.choose('language', chosen)] });
};
