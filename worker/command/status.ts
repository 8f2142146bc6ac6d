import { thousands } from '../../shared/base/text.ts';
import { inDollars } from '../../shared/state/spending/limit.ts';
import type { Texts } from '../../shared/texts/language.ts';
import { learntWindow, timeZoneOf } from '../lane/turn-settings.ts';
import { chatRoom, type Room } from '../model/count.ts';
import type { SessionState, Work } from './chat-state.ts';
import { type CommandContext, type CommandHandler, replied } from './command.ts';
import { gaugeOf, inMinutes } from './words.ts';

/** `/status`: shows the model, how full the context is, the last compaction, the waiting messages, and today's cost. */
export const status: CommandHandler = async (context) => replied('status', await statusOf(context));

/** The text of `/status`. Rejects when Redis cannot be reached. */
export async function statusOf({ turn }: CommandContext): Promise<string> {
  const { env, chat, currentChat, session, texts } = turn;
  const { settings, usageBook } = env;
  const [state, work, [today], { limitTokens }] = await Promise.all([
    env.chatState.session(session),
    env.chatState.work(chat, turn.nowMs()),
    usageBook.ofDays(currentChat, 1, turn.nowMs()),
    roomIn(turn),
  ]);
  return [
    texts.status.model(settings.MODEL),
    contextLine(texts, state.tokens, limitTokens),
    ...conversationLines(texts, state, timeZoneOf(turn, settings)),
    ...workLines(texts, work),
    texts.status.today(inDollars(today?.dollars ?? 0)),
  ].join('\n');
}

/** The token limits of requests in a command's chat, with the model that the chat uses. */
export async function roomIn({ limit, env: { model, settings } }: CommandContext['turn']): Promise<Room> {
  const { windowTokens } = await model.limits(settings.MODEL);
  return chatRoom(windowTokens, learntWindow(limit, settings), settings);
}

function contextLine({ status: text }: Texts, tokens: number, windowTokens: number): string {
  if (tokens === 0) return text.contextEmpty;
  const share = tokens / windowTokens;
  return text.context(gaugeOf(share), Math.round(share * 100), thousands(tokens), thousands(windowTokens));
}

function conversationLines({ status: text }: Texts, state: SessionState, timeZone: string): string[] {
  const { messages, sinceMs, compactedMs } = state;
  if (sinceMs === undefined) return [];
  return [
    text.conversation(thousands(messages), inMinutes(sinceMs, timeZone)),
    compactedMs === undefined ? text.neverCompacted : text.compacted(inMinutes(compactedMs, timeZone)),
  ];
}

function workLines({ status: text }: Texts, { waiting, workingMs }: Work): string[] {
  const running = workingMs === undefined ? [] : [text.working(Math.round(workingMs / 1000))];
  if (waiting > 0) return [...running, text.waiting(waiting)];
  return running.length > 0 ? running : [text.idle];
}
