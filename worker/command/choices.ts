import { clip } from '../../shared/base/text.ts';
import { BUSY_WAYS, chatState } from '../../shared/state/chat/chat.ts';
import { LANGUAGES, languageOf, TEXTS } from '../../shared/texts/language.ts';
import { readTimeZone, timeZoneOf } from '../lane/turn-settings.ts';
import { type CommandHandler, replied } from './command.ts';
import { inMinutes } from './words.ts';

/** `/busy queue|merge|interrupt`: sets how to treat messages that arrive during an answer; without a word, shows the choice. */
export const busy: CommandHandler = ({ turn, argument }) => {
  const { busy: text, busyButtons } = turn.texts;
  const buttons = [BUSY_WAYS.map((way) => ({ text: busyButtons[way], command: `/busy ${way}` }))];
  const current = BUSY_WAYS.find((way) => way === turn.choice('busy')) ?? 'queue';
  if (argument === '') return replied('busy', text[current], { buttons });
  const chosen = BUSY_WAYS.find((way) => way === argument.toLowerCase());
  if (chosen === undefined) return replied('busy', text.unknown, { buttons });
  return replied('busy', text[chosen], { changes: [chatState(turn.keys, turn.chat).choose('busy', chosen)] });
};

/** `/lang <code|auto>`: sets the language of notices. Without a code, names the current language and offers all languages. */
export const lang: CommandHandler = ({ turn, argument }) => {
  const { texts, message } = turn;
  const chat = chatState(turn.keys, turn.chat);
  const buttons = [LANGUAGES.map((language) => ({ text: TEXTS[language].languageName, command: `/lang ${language}` }))];
  const word = argument.toLowerCase();
  if (word === '') return replied('lang', texts.languageIs, { buttons });
  if (word === 'auto') {
    const { language } = turn.chatSettings;
    const { languageAuto } = TEXTS[languageOf(message.ok ? message.value.from.language : undefined)];
    const text = language === undefined ? languageAuto : TEXTS[language].languageIs;
    return replied('lang', text, { changes: [chat.resetChoice('language')] });
  }
  // Match the whole code, or its part before the hyphen: `zh` and `zh-tw` choose `zh-hant`.
  const chosen = LANGUAGES.find((code) => code === word || code.split('-')[0] === word.split('-')[0]);
  if (chosen === undefined) return replied('lang', texts.languageUnknown(LANGUAGES), { buttons });
  return replied('lang', TEXTS[chosen].languageIs, { changes: [chat.choose('language', chosen)] });
};

const SHOWN_CHARS_MAX = 64;

/** `/timezone <name|auto>`: sets the time zone of the chat; without a name, shows it. Existing reminders keep their zone. */
export const timezone: CommandHandler = ({ turn, argument }) => {
  const { settings } = turn.env;
  const { texts } = turn;
  const chat = chatState(turn.keys, turn.chat);
  const now = (zone: string) => inMinutes(turn.nowMs(), zone);
  const current = timeZoneOf(turn, settings);
  if (argument === '') return replied('timezone', texts.timeZoneIs(current, now(current)));
  const isAuto = argument.toLowerCase() === 'auto';
  const zone = isAuto ? settings.TZ : readTimeZone(argument);
  if (zone === undefined) return replied('timezone', texts.timeZoneUnknown(clip(argument, SHOWN_CHARS_MAX)));
  const changes = [isAuto ? chat.resetChoice('timezone') : chat.choose('timezone', zone)];
  return replied('timezone', texts.timeZoneSet(zone, now(zone)), { changes });
};

/** Bot API, `InlineKeyboardButton`: 64 bytes of `callback_data`. */
const BUTTON_BYTES_MAX = 64;

/** `/model <name>`: sets the model of this chat to one that the operator allows; without a name, shows the current model. */
export const model: CommandHandler = ({ turn, argument }) => {
  const { texts } = turn;
  const { MODELS: models, MODEL: modelName } = turn.env.settings;
  const buttons = models
    .map((name) => [{ text: name, command: `/model ${name}` }])
    .filter((row) => row.every(({ command }) => Buffer.byteLength(command) <= BUTTON_BYTES_MAX));
  if (argument === '') return replied('model', texts.modelIs(modelName), { buttons });
  const chosen = models.find((name) => name.toLowerCase() === argument.toLowerCase());
  if (chosen === undefined) return replied('model', texts.modelUnknown(models), { buttons });
  const changes = [chatState(turn.keys, turn.chat).choose('model', chosen)];
  return replied('model', texts.modelSet(chosen), { changes });
};
