import { clip, thousands } from '../../../shared/base/text.ts';
import type { SessionId } from '../../../shared/redis/keys.ts';
import { chatState } from '../../../shared/state/chat/chat.ts';
import { readHeader } from '../../../shared/state/session/header.ts';
import { conversation } from '../../../shared/state/session/session.ts';
import type { Turn } from '../../../shared/state/turn/turn.ts';
import { type CommandHandler, inRows, replied } from '../../command/command.ts';
import { onDay } from '../../command/words.ts';
import type { Env } from '../../env.ts';
import type { Feature } from '../../feature.ts';
import { timeZoneOf } from '../../lane/turn-settings.ts';
import { plainLine } from '../memory/memory.ts';
import { type Conversation, changesToContinue, conversationsOf, describe } from './conversations.ts';

const PAGE = 10;
const NAME = /^name\b\s*(.*)$/is;
const NAME_CHARS_MAX = 64;
/** The step that moves the chat. */
const CONTINUED = 'continued';

/** `/chats [page]`: lists the conversations of the chat, with buttons that continue them. `/chats name …`: names the present one. */
const chats: CommandHandler = async (context) => {
  const { turn, argument } = context;
  const { chats: text } = turn.texts;
  const [, givenName] = NAME.exec(argument) ?? [];
  if (givenName === undefined) return list(turn, Math.max(1, Number.parseInt(argument, 10) || 1));
  const name = clip(plainLine(givenName), NAME_CHARS_MAX);
  const isHere = chatState(turn.keys, turn.chat).expectSession(turn.session);
  const result = await turn.write('', [conversation(turn.keys, turn.session).rename(name)], [isHere]);
  // The chat has moved to another session meanwhile, so name that one.
  if (result === 'unmet') return { kind: 'hand back' };
  return replied('chats', name === '' ? text.unnamed : text.named(name));
};

async function list(turn: Turn<Env>, page: number) {
  const { env, texts } = turn;
  const all = await conversationsOf(turn);
  if (all.length === 0) return replied('chats', texts.chats.none);
  const start = Math.min(page - 1, Math.floor((all.length - 1) / PAGE)) * PAGE;
  const items = await Promise.all(all.slice(start, start + PAGE).map((each) => describe(env, each)));
  const lines = items.map((each, at) => `${start + at + 1}. ${lineOf(turn, each)}`);
  const buttons = items.flatMap(({ session }, at) =>
    session === turn.session ? [] : [buttonFor(session, texts.chats.continueButton(start + at + 1))],
  );
  const older = { text: texts.chats.olderButton, command: `/chats ${start / PAGE + 2}` };
  const rows = [...inRows(buttons, 3), ...(all.length > start + PAGE ? [[older]] : [])];
  return replied('chats', [texts.chats.title(all.length), ...lines].join('\n\n'), {
    buttons: rows,
    keepsButtons: true,
  });
}

function lineOf(turn: Turn<Env>, { session, words, messages, fromMs, toMs }: Conversation): string {
  const { chats: text } = turn.texts;
  const [from, to] = [fromMs, toMs].map((ms) => onDay(ms, timeZoneOf(turn, turn.env.settings))) as [string, string];
  const title = session === turn.session ? `${words || text.noWords} ${text.isPresent}` : words || text.noWords;
  return text.line(title, thousands(messages), from, to);
}

/** `/continue <session>`, from a button: continues one of the chat's conversations where it stopped. */
const continueConversation: CommandHandler = async ({ turn, argument }) => {
  const { chats: text } = turn.texts;
  if (argument === '') return list(turn, 1);
  const to = argument as SessionId;
  if (!turn.hasDone(CONTINUED)) {
    if (to === turn.session) return replied('continue', text.isHere);
    const changes = await changesToContinue(turn, to);
    if (changes === undefined) return replied('continue', text.gone);
    const isHere = chatState(turn.keys, turn.chat).expectSession(turn.session);
    if ((await turn.write(CONTINUED, changes, [isHere])) === 'unmet') return { kind: 'hand back' };
  }
  return replied('continue', text.continued((await describe(turn.env, to)).words || text.noWords));
};

function buttonFor(session: string, text: string) {
  return { text, command: `/continue ${session}` };
}

/** A way back to the earlier conversations of a chat: `/chats`, and a button below the notice of a fresh session. */
export const chatsFeature: Feature = {
  name: 'chats',
  commands: { chats, continue: continueConversation },
  async beforeConclude(turn, conclusion) {
    const isNotified = turn.trial !== undefined || turn.notices.includes(turn.texts.freshSession);
    if (!isNotified || turn.isElsewhere || conclusion.outcome !== 'answered') return conclusion;
    const { parent } = await readHeader(turn.env.redis, turn.keys, turn.session);
    if (parent === undefined) return conclusion;
    const button = buttonFor(parent, turn.texts.chats.backButton);
    return { ...conclusion, buttons: [...(conclusion.buttons ?? []), [button]] };
  },
};
