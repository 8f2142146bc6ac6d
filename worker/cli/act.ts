import { parseChatKey } from '../../shared/redis/keys.ts';
import { EVERY_CHAT } from '../../shared/state/lane/stops.ts';
import { cancelChat, cancelMessage } from '../operator/cancel.ts';
import { pause as pauseAt, resume as resumeAt } from '../operator/pause.ts';
import { type Retried, retryMessage } from '../operator/retry.ts';
import { CANCELLED, PAUSED, RESUMED, RETRIED } from '../operator/words.ts';
import { chatIn, namedMessage } from './look.ts';
import { type Call, withRedis } from './verb.ts';

/** Cancels one message, or all that a chat waits for; the exit code is 1 when there was nothing to cancel. */
export async function cancel(call: Call): Promise<number> {
  const { attribution, terminal, words } = call;
  const [target = ''] = words;
  return withRedis(terminal, async (at) => {
    const chat = parseChatKey(target)?.chat;
    const name = chat === undefined ? await namedMessage(at, target) : undefined;
    const result = name
      ? await cancelMessage(at, name, attribution)
      : await cancelChat(at, chatIn(target), attribution);
    const what = name ? `Message ${name.entry}` : `Chat ${chat}`;
    call.print({ target, result }, () => `${what} ${CANCELLED[result]}.`);
    return result === 'cancelled' || result === 'repeated' ? 0 : 1;
  });
}

/** Tries a message again; the exit code is 1 when there is nothing to try. */
export async function retry(call: Call): Promise<number> {
  return withRedis(call.terminal, async (at) => {
    const name = await namedMessage(at, call.words[0] ?? '');
    const result = await retryMessage(at, name, call.attribution);
    call.print({ entry: name.entry, ...result }, () => `Message ${name.entry} ${retriedWords(result)}.`);
    return ['now', 'replayed', 'under way'].includes(result.kind) ? 0 : 1;
  });
}

function retriedWords(result: Retried): string {
  if (result.kind === 'replayed') return `${RETRIED.replayed} as ${result.entry}`;
  if (result.kind === 'ended') return RETRIED.ended.replace('ended', `ended: ${result.outcome}`);
  return RETRIED[result.kind === 'under way' && result.isPaused ? 'resting' : result.kind];
}

/** Pauses a chat, or every chat. */
export async function pause(call: Call): Promise<number> {
  const { chat, subject } = pausable(call);
  return withRedis(call.terminal, async (at) => {
    const isNew = await pauseAt(at, chat, call.attribution);
    const result = isNew ? 'paused' : 'repeated';
    call.print({ chat, result }, () => `${subject} ${PAUSED[result]}.`);
    return 0;
  });
}

/** Ends a pause; the exit code is 1 when there was none. */
export async function resume(call: Call): Promise<number> {
  const { chat, subject } = pausable(call);
  return withRedis(call.terminal, async (at) => {
    const wasPaused = await resumeAt(at, chat, call.attribution);
    const words = wasPaused ? RESUMED.resumed : `${RESUMED.repeated}; "npm run cli -- status" names what is`;
    call.print({ chat, result: wasPaused ? 'resumed' : 'not paused' }, () => `${subject} ${words}.`);
    return wasPaused ? 0 : 1;
  });
}

function pausable({ words: [word] }: Call) {
  if (word === undefined) return { chat: EVERY_CHAT, subject: 'Every chat' } as const;
  return { chat: chatIn(word), subject: `Chat ${chatIn(word)}` } as const;
}
