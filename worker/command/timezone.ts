import { clip } from '../../shared/base/text.ts';
import { chatState } from '../../shared/state/chat/chat.ts';
import { readTimeZone, timeZoneOf } from '../lane/turn-settings.ts';
import { type CommandHandler, replied } from './command.ts';
import { inMinutes } from './words.ts';

const SHOWN_CHARS_MAX = 64;

/** `/timezone <name|auto>`: the zone of the chat's times. Reminders keep the one in which they were set. */
export const timezone: CommandHandler = ({ turn, words }) => {
  const { settings } = turn.env;
  const { texts } = turn;
  const chat = chatState(turn.keys, turn.chat);
  const now = (zone: string) => inMinutes(turn.nowMs(), zone);
  const current = timeZoneOf(turn, settings);
  if (words === '') return replied('timezone', texts.timeZoneIs(current, now(current)));
  const isAuto = words.toLowerCase() === 'auto';
  const zone = isAuto ? settings.TZ : readTimeZone(words);
  if (zone === undefined) return replied('timezone', texts.timeZoneUnknown(clip(words, SHOWN_CHARS_MAX)));
  const changes = [isAuto ? chat.leaveToDefault('timezone') : chat.choose('timezone', zone)];
  return replied('timezone', texts.timeZoneSet(zone, now(zone)), { changes });
};
