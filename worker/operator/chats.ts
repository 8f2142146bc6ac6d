import { randomBytes } from 'node:crypto';
import { decodeMessage, encodeMessage, type InboundMessage } from '../../shared/flow/message.ts';
import { type ChatKey, type Keys, keysOf, parseChatKey } from '../../shared/redis/keys.ts';
import { acceptStop, EVERY_CHAT, endPause, type Pause } from '../../shared/state/lane/stops.ts';
import { readHead } from '../../shared/state/lane/waiting.ts';
import { storedMessage } from '../../shared/state/message/inbound.ts';
import { addOrder, endOrder } from '../../shared/state/orders.ts';
import { serverTimeMs } from '../../shared/state/process/process.ts';
import { readAllPauses } from '../report/in-flight.ts';
import type { ReportSource } from '../report/report.ts';
import { inWords } from '../report/words.ts';
import type { Act, Result, Subject } from './act.ts';
import { type ChatSubject, everyChat, findChat, keysFor } from './subjects.ts';

/** Pauses a chat, or every chat: running messages end normally, and no other begins. An earlier pause stays as it is. */
export const pause: Act<ChatSubject> = {
  deed: 'pause',
  label: 'Pause',
  find: findChat,
  asks: (_, { chat }) => (chat === EVERY_CHAT ? WHILE_PAUSED : undefined),
  async does(at, { chat, called }, { by, why, isRepeat }) {
    let isNew = false;
    for (const { paused } of keysFor(at, chat)) {
      const sinceMs = await serverTimeMs(at.redis, paused);
      isNew = (await addOrder(at.redis, paused, { chat, sinceMs, by, why })) || isNew;
    }
    const isDone = isNew || isRepeat;
    const words = isDone ? 'is paused: its messages wait' : `was paused already${await sinceWhen(at, chat)}`;
    const kind = isDone ? 'paused' : 'repeated';
    return { kind, effect: isDone ? 'done' : 'none', text: `${called} ${words}`, left: [chat] };
  },
};

const WHILE_PAUSED =
  'Running messages end normally. Nobody gets an answer until you resume: messages are accepted, and wait.';

/**
 * Ends the pause of a chat, or that of every chat. Within seconds the reconciler makes jobs again for what waits. The
 * pause of one chat and the pause of every chat are independent: each is ended by itself.
 */
export const resume: Act<ChatSubject> = {
  deed: 'resume',
  label: 'Resume',
  find: findChat,
  async does(at, { chat, called }, { isRepeat }) {
    const isEnded = (await endPauses(at, chat)) || isRepeat;
    const pauses = await readAllPauses(at);
    const others = pauses.map((each) => each.chat).filter((each) => chat === EVERY_CHAT || each === EVERY_CHAT);
    const own = others.slice(0, CHATS_NAMED).join(', ');
    const still = chat === EVERY_CHAT ? `. Still paused by themselves: ${own}` : '. But every chat is paused';
    const more = others.length > 0 ? still : '';
    if (!isEnded)
      return { kind: 'not paused', effect: 'failed', text: `${called} was not paused${more}`, left: others };
    return { kind: 'resumed', effect: 'done', text: `${called} goes on within seconds${more}`, left: others };
  },
};

const CHATS_NAMED = 20;

/** Ends all pauses, also of single chats. The name is a time in ms since the epoch: newer pauses stay. */
export const resumeAll: Act<Subject & { count: number; chats: readonly Pause['chat'][] }> = {
  deed: 'resume',
  label: 'Resume',
  async find(at, untilMs) {
    const pauses = (await readAllPauses(at)).filter(({ sinceMs }) => sinceMs <= Number(untilMs));
    const chats = pauses.map(({ chat }) => chat);
    return { ...everyChat, count: chats.length, chats };
  },
  async does(at, { chats, count }) {
    for (const chat of chats) await endPauses(at, chat);
    const text = count === 0 ? 'Nothing was paused' : `Every chat goes on within seconds; pauses ended: ${count}`;
    return { kind: 'resumed', effect: count === 0 ? 'none' : 'done', text };
  },
};

/** Cancels all messages of a chat through a `/stop` message, which is accepted and settled like one of its user. */
export async function cancelChat(at: ReportSource, chat: ChatKey, called: string): Promise<Result> {
  const [keys = keysOf(0)] = keysFor(at, chat);
  const message = encodeMessage(await stopFor(at, keys, chat));
  const traceparent = `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01`;
  const kind = await acceptStop(at.redis, keys, chat, { message, traceparent });
  const words = {
    cancelled: 'is cancelled: a running message ends within seconds, waiting ones in their turn',
    repeated: 'was cancelled already',
    idle: 'has nothing waiting',
  };
  const effect = { cancelled: 'done', repeated: 'none', idle: 'failed' } as const;
  return { kind, effect: effect[kind], text: `${called} ${words[kind]}` };
}

/** Allows a person or a group within a second. `isSet`: `TELEGRAM_ALLOWED_IDS` has this id. */
export const allow: Act<Subject & { isSet: boolean }> = {
  deed: 'allow',
  label: 'Allow',
  async does({ redis }, { id, isSet }, { by, why }) {
    if (isSet) return { kind: 'set', effect: 'none', text: `${id} is allowed by TELEGRAM_ALLOWED_IDS already` };
    const sinceMs = await serverTimeMs(redis);
    const isNew = await addOrder(redis, keysOf(0).allowed, { chat: id, sinceMs, by, why });
    if (!isNew) return { kind: 'repeated', effect: 'none', text: `${id} was allowed already` };
    const text = `${id} is allowed within a second; what was written before is not answered`;
    return { kind: 'allowed', effect: 'done', text };
  },
};

/** Takes back an `allow`. */
export const disallow: typeof allow = {
  deed: 'disallow',
  label: 'Remove',
  async does({ redis }, { id, isSet }) {
    const wasAdded = await endOrder(redis, keysOf(0).allowed, id);
    const kind = wasAdded ? 'removed' : 'unknown';
    const fixed = `${id} stays allowed by TELEGRAM_ALLOWED_IDS: take it off there, and start the gateway again`;
    if (isSet) return { kind, effect: 'failed', text: fixed };
    if (wasAdded) return { kind, effect: 'done', text: `${id} is ignored within a second` };
    return { kind, effect: 'failed', text: `${id} was not added; "npm run cli -- allow" names who was` };
  },
};

async function endPauses(at: ReportSource, chat: Pause['chat']): Promise<boolean> {
  let isEnded = false;
  for (const keys of keysFor(at, chat)) {
    const nowMs = await serverTimeMs(at.redis, keys.paused);
    isEnded = (await endPause(at.redis, keys, chat, nowMs)) || isEnded;
  }
  return isEnded;
}

/** Since when a chat is paused, by whom and why; empty if the pause has ended meanwhile. */
async function sinceWhen(at: ReportSource, chat: Pause['chat']): Promise<string> {
  const pause = (await readAllPauses(at)).find((each) => each.chat === chat);
  if (pause === undefined) return '';
  const ago = inWords((await serverTimeMs(at.redis)) - pause.sinceMs);
  return `, ${ago} ago by ${pause.by}${pause.why === '' ? '' : `: ${pause.why}`}`;
}

/** A `/stop` in the name of whoever wrote the first waiting message, so that the reply is in that person's language. */
async function stopFor({ redis }: ReportSource, keys: Keys, chat: ChatKey): Promise<InboundMessage> {
  const head = await readHead(redis, keys, chat);
  const first = decodeMessage(head === undefined ? undefined : await storedMessage(redis, keys, head));
  const { chatId = 0, topicId } = parseChatKey(chat) ?? {};
  const content = { kind: 'text', text: '/stop' } as const;
  const place = { chatId, ...(topicId !== undefined && { topicId }) };
  const now = { v: 1, updateId: 0, sentAtMs: Date.now(), content, ...place } as const;
  if (!first.ok) {
    const chatType = chatId > 0 ? 'private' : 'supergroup';
    return { ...now, chatType, messageId: 0, from: { id: chatId } };
  }
  const { chatType, chatTitle, messageId, from } = first.value;
  const { isGuest: _, ...sender } = from;
  return { ...now, chatType, ...(chatTitle && { chatTitle }), messageId, from: sender };
}
