import { clip } from '../../shared/base/text.ts';
import { LANGUAGES, languageOf, TEXTS } from '../../shared/texts/language.ts';
import { BUSY, BUSY_WAYS, type Choice, LANGUAGE, MODEL, TIME_ZONE } from '../lane/attempt.ts';
import { readTimeZone, timeZoneOf } from '../lane/time-zone.ts';
import type { CarryOut, Order } from './commands.ts';
import { replied } from './reply.ts';
import { inMinutes } from './words.ts';

const AUTO = 'auto';

/** `/lang <code|auto>`: the language of notices; without a code it says which, and offers all. */
export const chooseLanguage: CarryOut = (_ports, { attempt, words }) => {
  const { texts, message } = attempt;
  const buttons = [LANGUAGES.map((language) => ({ text: TEXTS[language].languageName, command: `/lang ${language}` }))];
  if (words === '') return replied('lang', texts.languageIs, { buttons });
  if (words.toLowerCase() === AUTO) {
    const { languageAuto } = TEXTS[languageOf(message.ok ? message.value.from.language : undefined)];
    return replied('lang', languageAuto, { commands: [['HDEL', attempt.keys.chat(attempt.chat), LANGUAGE]] });
  }
  const chosen = LANGUAGES.find((language) => matches(language, words.toLowerCase()));
  if (chosen === undefined) return replied('lang', texts.languageUnknown(LANGUAGES), { buttons });
  return replied('lang', TEXTS[chosen].languageIs, { commands: [keep(attempt, LANGUAGE, chosen)] });
};

/** A language by its code, or by the part of the code before its script. */
function matches(language: string, word: string): boolean {
  return language === word || language.split('-')[0] === word.split('-')[0];
}

/** `/busy queue|merge|interrupt`: what becomes of messages that come while one is being answered. */
export const chooseBusy: CarryOut = (_ports, { attempt, words }) => {
  const { busy, busyButtons } = attempt.texts;
  const buttons = [BUSY_WAYS.map((way) => ({ text: busyButtons[way], command: `/busy ${way}` }))];
  const current = BUSY_WAYS.find((way) => way === attempt.choice(BUSY)) ?? 'queue';
  if (words === '') return replied('busy', busy[current], { buttons });
  const chosen = BUSY_WAYS.find((way) => way === words.toLowerCase());
  if (chosen === undefined) return replied('busy', busy.unknown, { buttons });
  return replied('busy', busy[chosen], { commands: [keep(attempt, BUSY, chosen)] });
};

/** `/model <name>`: the model of this chat, of those that the operator allows. */
export const chooseModel: CarryOut = ({ ask: { settings } }, { attempt, words }) => {
  const { texts } = attempt;
  const { models, modelName } = settings;
  const buttons = models.map((model) => [{ text: model, command: `/model ${model}` }]);
  const pressable = buttons.filter(
    ([{ command } = { command: '' }]) => Buffer.byteLength(command) <= COMMAND_BYTES_MAX,
  );
  if (words === '') return replied('model', texts.modelIs(modelName), { buttons: pressable });
  const chosen = models.find((model) => model.toLowerCase() === words.toLowerCase());
  if (chosen === undefined) return replied('model', texts.modelUnknown(models), { buttons: pressable });
  return replied('model', texts.modelSet(chosen), { commands: [keep(attempt, MODEL, chosen)] });
};

/** `/timezone <name|auto>`: the zone of the chat's times. Reminders keep the one in which they were set. */
export const chooseTimeZone: CarryOut = ({ ask: { settings } }, { attempt, words }) => {
  const { texts } = attempt;
  const now = (zone: string) => inMinutes(attempt.nowMs(), zone);
  const current = timeZoneOf(attempt, settings);
  const usual = settings.timeZone;
  if (words === '') return replied('timezone', texts.timeZoneIs(current, now(current)));
  if (words.toLowerCase() === AUTO)
    return replied('timezone', texts.timeZoneSet(usual, now(usual)), {
      commands: [['HDEL', attempt.keys.chat(attempt.chat), TIME_ZONE]],
    });
  const zone = readTimeZone(words);
  if (zone === undefined) return replied('timezone', texts.timeZoneUnknown(clip(words, ZONE_CHARS_MAX)));
  return replied('timezone', texts.timeZoneSet(zone, now(zone)), { commands: [keep(attempt, TIME_ZONE, zone)] });
};

const ZONE_CHARS_MAX = 64;

/** Telegram's bound for what a button sends. */
const COMMAND_BYTES_MAX = 64;

function keep({ keys, chat }: Order['attempt'], choice: Choice, value: string) {
  return ['HSET', keys.chat(chat), choice, value] as const;
}
