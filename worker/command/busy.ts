import { BUSY_WAYS, chatState } from '../../shared/state/chat/chat.ts';
import { type CommandHandler, replied } from './command.ts';

/** `/busy queue|merge|interrupt`: what becomes of messages that come while one is being answered. */
export const busy: CommandHandler = ({ turn, words }) => {
  const { busy: text, busyButtons } = turn.texts;
  const buttons = [BUSY_WAYS.map((way) => ({ text: busyButtons[way], command: `/busy ${way}` }))];
  const current = BUSY_WAYS.find((way) => way === turn.choice('busy')) ?? 'queue';
  if (words === '') return replied('busy', text[current], { buttons });
  const chosen = BUSY_WAYS.find((way) => way === words.toLowerCase());
  if (chosen === undefined) return replied('busy', text.unknown, { buttons });
  return replied('busy', text[chosen], { changes: [chatState(turn.keys, turn.chat).choose('busy', chosen)] });
};
