import { counted } from '../../shared/base/text.ts';
import { type ChatKey, type EntryId, type Keys, parseChatKey } from '../../shared/redis/keys.ts';
import { type Cancelled, markCancelled } from '../../shared/state/lane/stops.ts';
import { BY_OPERATOR } from '../../shared/state/turn/record.ts';
import { openQueue } from '../lane/queue.ts';
import { PROVIDER_SAID, providerTroubleOf } from '../model/errors/failure.ts';
import type { Model } from '../model/port.ts';
import { type ReportSource, shardsOf } from '../report/report.ts';
import type { Act, Result, Subject } from './act.ts';
import { cancelChat } from './chats.ts';
import { putBack } from './letters.ts';
import { type ChatSubject, everyChat, findChat, findMessage, type MessageSubject } from './subjects.ts';

const CANCEL_TEXTS = {
  cancelled: 'is cancelled; it ends within seconds if it is running, otherwise in its turn',
  repeated: 'was cancelled already',
  gone: 'has ended; there is nothing to cancel',
  answered: 'has already been answered; its answer is being delivered',
  command: 'is a command that cancels other messages, and cannot be cancelled',
  merged: 'is answered together with the message before it: cancel that message, or the chat',
};

const EFFECTS: Partial<Record<Cancelled, Result['effect']>> = { cancelled: 'done', repeated: 'none' };

/** Cancels one message, or all messages of a chat. An answer that is being delivered is not cancelled. */
export const cancel: Act<MessageSubject | ChatSubject> = {
  action: 'cancel',
  label: 'Cancel',
  find: (at, name) => (parseChatKey(name) === undefined ? findMessage(at, name) : findChat(at, name)),
  warningFor: (_, subject) =>
    'name' in subject
      ? 'Its user will be notified. This cannot be undone.'
      : 'All its messages end, as with /stop, and its users are notified. This cannot be undone.',
  async apply(at, subject, { isRepeat }) {
    const { title } = subject;
    if (!('name' in subject)) return cancelChat(at, subject.chat as ChatKey, title);
    const { keys, entry } = subject.name;
    const mark = await markCancelled(at.redis, keys, entry, BY_OPERATOR);
    const isCancelled = mark === 'cancelled' || mark === 'repeated';
    // If a crash prevents this step, the message ends when its delay is over.
    if (isCancelled) await endDelays(at, [keys], entry);
    const kind = isRepeat && isCancelled ? 'cancelled' : mark;
    const { [kind]: effect = 'failed' } = EFFECTS;
    return { kind, effect, text: `${title} ${CANCEL_TEXTS[kind]}` };
  },
};

/** Retries a delayed message now, or replays the dead letter of a message. Does nothing to any other message. */
export const retry: Act<MessageSubject> = {
  action: 'retry',
  label: 'Try again',
  find: findMessage,
  async apply(at, { title, name: { keys, entry }, report }, { isRepeat }) {
    const resultOf = (kind: string, effect: Result['effect'], words: string, details = {}): Result => {
      return { kind, effect, text: `${title} ${words}`, details };
    };
    const { letter, outcome, place, pause } = report;
    if (letter !== undefined) {
      const result = await putBack(at, { keys, id: letter, name: letter }, title);
      if (result.kind !== 'unfinished') return result;
      return { ...result, kind: 'under way', effect: 'none', details: { isPaused: false } };
    }
    if (pause) return resultOf('under way', 'none', 'is waiting in a paused chat: resume it first', { isPaused: true });
    if (place?.at === 'delayed') await endDelays(at, [keys], entry);
    if (place?.at === 'delayed' || isRepeat) return resultOf('now', 'done', 'is being tried now');
    if (outcome === undefined) return resultOf('under way', 'none', 'is under way already', { isPaused: false });
    const words = `has ended: ${outcome.outcome}. It is no longer stored, so it cannot be tried again`;
    return resultOf('ended', 'failed', words, { outcome: outcome.outcome });
  },
};

/** Retries all delayed messages now. */
export const promote: Act = {
  action: 'retry',
  label: 'Try again',
  find: async () => everyChat,
  async apply(at) {
    const text = `${counted(await endDelays(at, shardsOf(at)), 'message')} now being tried`;
    return { kind: 'now', effect: 'done', text };
  },
};

export type ProbeSubject = Subject & { ask: () => ReturnType<Model['send']> };

/** Asks the endpoint for one word. If the endpoint answers, retries all delayed messages. */
export const probe: Act<ProbeSubject> = {
  action: 'retry',
  label: 'Try again',
  async apply(at, { ask }, run) {
    const answer = await ask();
    if (answer.ok) {
      const { text, ...result } = await promote.apply(at, everyChat, run);
      return { ...result, text: `It answers; ${text}` };
    }
    const trouble = providerTroubleOf(answer.failure.reason);
    const words = trouble && `The endpoint still ${PROVIDER_SAID[trouble]}`;
    // `done`, not `failed`, so that the alert shows this try instead of an earlier one.
    return { kind: 'fails', effect: 'done', text: words ?? 'Not tried: the endpoint was asked a moment ago' };
  },
};

/** Ends the delay of one message (returns 0), or all delays of the shards (returns their number). Idempotent. */
async function endDelays({ redis }: ReportSource, shards: readonly Keys[], entry?: EntryId): Promise<number> {
  let count = 0;
  for (const keys of shards) {
    const queue = openQueue(redis, keys);
    try {
      if (entry === undefined) count += await queue.promoteAll();
      else await queue.promote([entry]);
    } finally {
      await queue.close();
    }
  }
  return count;
}
