import { randomBytes } from 'node:crypto';
import { decodeMessage, encodeMessage, type InboundMessage } from '../../shared/flow/message.ts';
import { type ChatKey, type Keys, keysOf, parseChatKey } from '../../shared/redis/keys.ts';
import { acceptStop, EVERY_CHAT, endPause, type Pause } from '../../shared/state/lane/stops.ts';
import { readHead } from '../../shared/state/lane/waiting.ts';
import { storedMessage } from '../../shared/state/message/inbound.ts';
import { addOrder, endOrder } from '../../shared/state/orders.ts';
import { ignoreStranger } from '../../shared/state/pairing/strangers.ts';
import { serverTimeMs } from '../../shared/state/process/process.ts';
import { readAllPauses } from '../report/in-flight.ts';
import type { ReportSource } from '../report/report.ts';
import { inWords } from '../report/words.ts';
import type { Act, Result, Subject } from './act.ts';
import { type ChatSubject, everyChat, findChat, findSomeone, keysFor, type SomeoneSubject } from './subjects.ts';

/** Pauses a chat, or every chat. Running messages end normally, and no other message begins. An earlier pause stays. */
export const pause: Act<ChatSubject> = {
  action: 'pause',
  label: 'Pause',
  find: findChat,
  warningFor: (_, { chat }) => (chat === EVERY_CHAT ? WHILE_PAUSED : undefined),
  async apply(at, { chat, title }, { by, why, isRepeat }) {
    let isNew = false;
    for (const { paused } of keysFor(at, chat)) {
      const sinceMs = await serverTimeMs(at.redis, paused);
      isNew = (await addOrder(at.redis, paused, { chat, sinceMs, by, why })) || isNew;
    }
    const isDone = isNew || isRepeat;
    const words = isDone ? 'is paused: its messages wait' : `was paused already${await sinceWhen(at, chat)}`;
    const kind = isDone ? 'paused' : 'repeated';
    return { kind, effect: isDone ? 'done' : 'none', text: `${title} ${words}`, remainingPauses: [chat] };
  },
};

const WHILE_PAUSED =
  'Answers under way are completed. New messages are accepted and wait: nobody gets an answer until you resume.';

/**
 * Ends the pause of one chat, or the pause that holds for every chat; the two kinds of pause are independent. Within seconds
 * the reconciler adds jobs for the waiting messages.
 */
export const resume: Act<ChatSubject> = {
  action: 'resume',
  label: 'Resume',
  find: findChat,
  async apply(at, { chat, title }, { isRepeat }) {
    const isEnded = (await endPauses(at, chat)) || isRepeat;
    const pauses = await readAllPauses(at);
    const others = pauses.map((each) => each.chat).filter((each) => chat === EVERY_CHAT || each === EVERY_CHAT);
    const names = others.slice(0, CHATS_NAMED).join(', ');
    const note = chat === EVERY_CHAT ? `. Still paused individually: ${names}` : '. The pause of all chats still holds';
    const more = others.length > 0 ? note : '';
    if (!isEnded)
      return { kind: 'not paused', effect: 'failed', text: `${title} was not paused${more}`, remainingPauses: others };
    return { kind: 'resumed', effect: 'done', text: `${title} resumes within seconds${more}`, remainingPauses: others };
  },
};

const CHATS_NAMED = 20;

/** Ends all pauses, also of single chats, that began up to a certain time. `find` gets this time in ms since the epoch. */
export const resumeAll: Act<Subject & { count: number; chats: readonly Pause['chat'][] }> = {
  action: 'resume',
  label: 'Resume',
  async find(at, untilMs) {
    const pauses = (await readAllPauses(at)).filter(({ sinceMs }) => sinceMs <= Number(untilMs));
    const chats = pauses.map(({ chat }) => chat);
    return { ...everyChat, count: chats.length, chats };
  },
  async apply(at, { chats, count }) {
    for (const chat of chats) await endPauses(at, chat);
    const text = count === 0 ? 'Nothing was paused' : `Every chat resumes within seconds; pauses ended: ${count}`;
    return { kind: 'resumed', effect: count === 0 ? 'none' : 'done', text };
  },
};

/** Cancels the unanswered messages of a chat, if any, with a `/stop` that enters the lane like a message of the user. */
export async function cancelChat(at: ReportSource, chat: ChatKey, title: string): Promise<Result> {
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
  return { kind, effect: effect[kind], text: `${title} ${words[kind]}` };
}

/** Allows a person or a group; this takes effect within a second. Also ends the person's request, if there is one. */
export const allow: Act<SomeoneSubject> = {
  action: 'allow',
  label: 'Allow',
  find: findSomeone,
  async apply({ redis }, { id, isSet }, { by, why, isRepeat }) {
    if (isSet) return { kind: 'set', effect: 'none', text: `${id} is already allowed by TELEGRAM_ALLOWED_IDS` };
    const sinceMs = await serverTimeMs(redis);
    const isNew = await addOrder(redis, keysOf(0).allowed, { chat: id, sinceMs, by, why });
    await endOrder(redis, keysOf(0).strangers, id);
    if (!isNew && !isRepeat) return { kind: 'repeated', effect: 'none', text: `${id} was allowed already` };
    const text = `${id} will be allowed within a second. Earlier messages are not answered`;
    return { kind: 'allowed', effect: 'done', text };
  },
};

/** Removes a person or a group that `allow` has added. An id in `TELEGRAM_ALLOWED_IDS` stays allowed. */
export const disallow: typeof allow = {
  action: 'disallow',
  label: 'Remove',
  async apply({ redis }, { id, isSet }) {
    const wasAdded = await endOrder(redis, keysOf(0).allowed, id);
    const kind = wasAdded ? 'removed' : 'unknown';
    const advice = `${id} is still allowed by TELEGRAM_ALLOWED_IDS: remove it there, and restart`;
    if (isSet) return { kind, effect: 'failed', text: advice };
    if (wasAdded) return { kind, effect: 'done', text: `${id} will be ignored within a second` };
    return { kind, effect: 'failed', text: `${id} was not on the list; "npm run cli -- allow" shows it` };
  },
};

/** Ignores a stranger who asked to be let in. */
export const ignore: Act = {
  action: 'ignore',
  label: 'Ignore',
  find: findSomeone,
  async apply({ redis }, { id }) {
    if (await ignoreStranger(redis, id))
      return { kind: 'ignored', effect: 'done', text: `${id} gets no reply for 30 days` };
    return { kind: 'unknown', effect: 'failed', text: `${id} does not wait any more` };
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

/** Age, operator and reason of a chat's pause, in words; empty if the pause has just ended. */
async function sinceWhen(at: ReportSource, chat: Pause['chat']): Promise<string> {
  const pause = (await readAllPauses(at)).find((each) => each.chat === chat);
  if (pause === undefined) return '';
  const ago = inWords((await serverTimeMs(at.redis)) - pause.sinceMs);
  return `, ${ago} ago by ${pause.by}${pause.why === '' ? '' : `: ${pause.why}`}`;
}

/**
 * A `/stop` from the sender of the lane's first message, so that the reply is in this person's language. If that message
 * cannot be read, the `/stop` is from the chat itself.
 */
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
