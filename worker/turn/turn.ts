import { SpanKind } from '@opentelemetry/api';
import { SPAN } from '../../shared/base/telemetry.ts';
import { alertCommand } from '../../shared/flow/alert.ts';
import type { InboundMessage } from '../../shared/flow/message.ts';
import { type ChatKey, chatKey, type Keys, parseChatKey, type SessionId, shardOf } from '../../shared/redis/keys.ts';
import type { Destination, Telegram } from '../../shared/telegram/client.ts';
import { commandOf } from '../../shared/telegram/commands.ts';
import { undeliverableAlert } from '../alerts/messages.ts';
import { conversationRequest } from '../ask/call.ts';
import { type AskPorts, askModel } from '../ask/conversation.ts';
import type { TurnTime } from '../ask/time.ts';
import {
  type Attempt,
  ageMs,
  CANCELLED,
  type Command,
  type Conclusion,
  REFUSED,
  type Written,
} from '../lane/attempt.ts';
import { backoffMs } from '../lane/backoff.ts';
import type { Waiting } from '../lane/fragments.ts';
import type { Lane } from '../lane/lane.ts';
import { type Concluding, cancelled, conclude, type Decision, failed, refused, type Verdict } from '../lane/verdict.ts';
import { compactAfterReply } from '../recovery/stage-1.ts';
import { removeTurn, trialLost } from '../recovery/trial.ts';
import type { Drafts } from '../reply/drafts.ts';
import { laneFull, NOTICE, unsupportedKind } from '../reply/notices.ts';
import { deliver, markFirst } from '../reply/outbox.ts';
import { showTyping } from '../reply/typing.ts';
import type { ConversationStore } from '../session/store.ts';
import { readContents } from './attachments.ts';
import { failTogether, gather, mergedConclusion } from './coalesce.ts';
import { carryOut } from './command.ts';

/** What a turn works with. */
export interface TurnPorts {
  /** What the model is asked with. */
  ask: AskPorts & { store: ConversationStore };
  telegram: Telegram;
  drafts: Drafts;
  lane: Pick<Lane, 'behind' | 'conclusionOf' | 'refusedBehind'>;
}

/** A finished reply is already paid for, so it may outlast longer trouble than a model call. */
const DELIVERY_ATTEMPTS_MAX = 30;
const UNAUTHORIZED_RETRY_MS = 30_000;
/** During a deploy, a newer worker takes over what this one cannot read; if none does, the user is notified. */
const NEWER_MS_MAX = 600_000;
const NEWER_RETRY_MS = 2_000;
/** The chat's next message waits for a compaction after a reply; a longer one is left to the call that needs it. */
const AFTER_REPLY_MS_MAX = 180_000;
/** The turn's field that holds the chat's new id. */
const MIGRATED_TO = 'migratedTo';

/**
 * One attempt at a message: conclude it unless an earlier attempt did, then deliver. Contract: throws `FencedError` when
 * another attempt took over, or what Redis throws; every other failure is a verdict.
 */
export async function runTurn(ports: TurnPorts, attempt: Attempt, time: TurnTime): Promise<Verdict> {
  const to = destinationOf(attempt);
  if (attempt.conclusion) return deliverConclusion(ports, attempt, attempt.conclusion, to, false);
  const stopTyping = showTyping(ports.telegram, to);
  try {
    const decided = await decide(ports, attempt, to, time);
    if (decided.kind !== 'conclude') {
      if (time.signal.aborted) return { kind: 'hand back' };
      await tellWaiting(ports, attempt, to, decided);
      return decided;
    }
    const conclusion = withNotices(attempt, decided.conclusion);
    const stored = await storeConclusion(attempt, conclusion, decided.commands);
    // Two different answers must never be sent: the next attempt delivers the stored one.
    if (stored === 'repeated' && !(await isStored(ports, attempt, conclusion))) return { kind: 'again' };
    await ports.ask.endpoint.storm.ended(attempt, conclusion.outcome === 'answered');
    ports.ask.instruments.reach('answer stored');
    stopTyping();
    const verdict = await deliverConclusion(ports, attempt, conclusion, to, true);
    // No user waits for this, and the chat's next message cannot run in between.
    if (verdict.kind === 'settle' && decided.afterReply) {
      const { opened, room } = decided.afterReply;
      const about = { room, conversation: () => conversationRequest(ports.ask, { attempt, opened }) };
      const leftMs = Math.min(ports.ask.settings.recoveryTimeoutMs, AFTER_REPLY_MS_MAX);
      await time.recovering(leftMs, (own, deadline) =>
        compactAfterReply(ports.ask, attempt, opened, about, { signal: own, deadline }),
      );
    }
    return verdict;
  } finally {
    stopTyping();
  }
}

/**
 * Ends a message whose turn threw on every try. If it has a conclusion, it could not be delivered; otherwise it failed,
 * and its user is notified where that does not throw.
 */
export async function failTurn(ports: TurnPorts, attempt: Attempt, reason: string, detail: string): Promise<Verdict> {
  if (attempt.conclusion) return undeliverable(attempt, attempt.conclusion, reason, detail);
  const { conclusion, commands } = failed(attempt, reason, NOTICE.unavailable, detail);
  const decided = failTogether(attempt, conclude(withNotices(attempt, conclusion), commands));
  if (decided.kind !== 'conclude') return decided;
  const stored = await storeConclusion(attempt, decided.conclusion, decided.commands);
  if (stored === 'repeated' && !(await isStored(ports, attempt, decided.conclusion))) return { kind: 'again' };
  return deliverConclusion(ports, attempt, decided.conclusion, destinationOf(attempt), true);
}

/** Whether the stored conclusion is this one: its reply was lost, and the command was repeated. */
async function isStored({ lane }: TurnPorts, { entry }: Attempt, conclusion: Conclusion): Promise<boolean> {
  return (await lane.conclusionOf(entry)) === JSON.stringify(conclusion);
}

/**
 * If a message ends other than answered while its session is on trial, nothing was shown against the previous session.
 */
async function storeConclusion(
  attempt: Attempt,
  conclusion: Conclusion,
  commands: Concluding['commands'],
): Promise<Exclude<Written, 'fenced'>> {
  const { keys, entry, chat, session } = attempt;
  const stored = [
    ['HSET', keys.turn(entry), 'conclusion', JSON.stringify(conclusion), 'attempts', 1] as const,
    markFirst(attempt),
    ...commands,
  ];
  const isGuilty = attempt.isBlamed && conclusion.outcome !== 'answered';
  if (attempt.trial === undefined || conclusion.outcome === 'answered') {
    // Otherwise the next message would be refused because of this one, and the innocent history would be set aside.
    return attempt.write('conclusion', [...stored, ...(isGuilty ? removeTurn(attempt) : [])]);
  }
  const back = await attempt.write(
    'conclusion',
    [...stored, ...removeTurn(attempt), ...trialLost(attempt)],
    [keys.chat(chat), 'session', session],
  );
  // The chat was bound to another session in the meantime: that binding stands.
  return back === 'moved' ? attempt.write('conclusion', stored) : back;
}

/**
 * The user is notified of changes to the conversation however the message ends; an answer carries its notices already.
 */
function withNotices({ notices }: Attempt, conclusion: Conclusion): Conclusion {
  if (conclusion.outcome === 'answered' || notices.length === 0) return conclusion;
  return { ...conclusion, parts: [...notices, ...conclusion.parts] };
}

/**
 * A user whose message waits for long is notified once. If the process is killed before sending, the notice is lost:
 * the answer will come.
 */
async function tellWaiting(ports: TurnPorts, attempt: Attempt, to: Destination, decided: Decision): Promise<void> {
  if (decided.kind !== 'later' || decided.isLongWait !== true) return;
  if ((await attempt.write('waiting told', [])) === 'repeated') return;
  await ports.telegram.sendMessage(to, NOTICE.waiting);
}

async function decide(ports: TurnPorts, attempt: Attempt, to: Destination, time: TurnTime): Promise<Decision> {
  if (!attempt.message.ok && attempt.message.isNewer && ageMs(attempt) < NEWER_MS_MAX)
    return { kind: 'later', delayMs: NEWER_RETRY_MS, reason: 'newer_version', isFree: true };
  if (!attempt.message.ok) return failed(attempt, 'undecodable', NOTICE.unreadable, attempt.message.problem);
  const message = attempt.message.value;
  const before = concludedBefore(attempt);
  if (before) return conclude(before);
  if (attempt.field(REFUSED) !== undefined) return conclude(await notTaken(ports, attempt));
  if (attempt.attempts > ports.ask.settings.maxAttempts)
    return failTogether(attempt, failed(attempt, 'attempts_used_up', NOTICE.unavailable, 'each attempt was cut short'));
  if (message.content.kind === 'unsupported')
    return conclude(refused('unsupported_kind', unsupportedKind(message.content.what)));
  const command = message.content.kind === 'text' ? commandOf(message.content.text) : undefined;
  if (command) return carryOut(command, attempt);
  const gathered = await gather(ports, attempt, message);
  if (gathered.kind === 'decided') return gathered.decision;
  return failTogether(attempt, await answer(ports, attempt, message, gathered.pieces, to, time), gathered.pieces);
}

/** A message that was not accepted, and all those directly behind it: they end at once, with one notice. */
async function notTaken({ lane }: TurnPorts, { chat }: Attempt): Promise<Conclusion> {
  const also = await lane.refusedBehind(chat);
  return { ...refused('lane_full', laneFull(1 + also.length)), ...(also.length > 0 && { also }) };
}

/** What another message decided about this one while it waited. */
function concludedBefore(attempt: Attempt): Conclusion | undefined {
  const cancelledBy = attempt.field(CANCELLED);
  return mergedConclusion(attempt) ?? (cancelledBy === undefined ? undefined : cancelled(cancelledBy));
}

/** Asks the model about a message and its pieces, while the user sees drafts. */
async function answer(
  ports: TurnPorts,
  attempt: Attempt,
  message: InboundMessage,
  pieces: readonly Waiting[],
  to: Destination,
  time: TurnTime,
): Promise<Decision> {
  const { settings, store } = ports.ask;
  const messages = [message, ...pieces.map((piece) => piece.message)];
  const reading = await readContents({ settings, store, telegram: ports.telegram }, attempt, messages, time.signal);
  if (reading.kind === 'decided') return reading.decision;
  const draft = ports.drafts.begin(attempt, message, to);
  try {
    return await askModel(ports.ask, attempt, { message, content: reading.content, onText: draft.write }, time);
  } finally {
    // A draft sent after its reply would stand below it.
    await draft.end();
  }
}

async function deliverConclusion(
  ports: TurnPorts,
  attempt: Attempt,
  conclusion: Conclusion,
  to: Destination,
  isNew: boolean,
): Promise<Verdict> {
  const attributes = { 'messaging.system': 'telegram', 'spillway.parts': conclusion.parts.length };
  const { instruments } = ports.ask;
  const work = () => deliver({ telegram: ports.telegram, instruments }, attempt, conclusion, to, isNew);
  const delivery = await instruments.telemetry.span(SPAN.deliver, attributes, work, {
    kind: SpanKind.PRODUCER,
  });
  if (delivery.kind === 'delivered') return { kind: 'settle', conclusion };
  const { failure } = delivery;
  if (failure.migratedTo !== undefined && failure.migratedTo !== to.chatId) {
    await moveChat(ports, attempt, conclusion, failure.migratedTo);
    return deliverConclusion(ports, attempt, conclusion, { chatId: failure.migratedTo }, false);
  }
  // A rejected token affects every message, and is not this one's fault.
  if (failure.kind === 'unauthorized')
    return {
      kind: 'later',
      delayMs: failure.retryAfterMs ?? UNAUTHORIZED_RETRY_MS,
      reason: 'telegram_unauthorized',
      isFree: true,
    };
  if (delivery.kind === 'later' && attempt.attempts < DELIVERY_ATTEMPTS_MAX) {
    const delayMs = backoffMs(attempt.attempts, failure.retryAfterMs);
    return { kind: 'later', delayMs, reason: `telegram_${failure.kind}` };
  }
  return undeliverable(attempt, conclusion, `telegram_${failure.kind}`, `${failure.kind}: ${failure.description}`);
}

async function undeliverable(attempt: Attempt, { also }: Conclusion, reason: string, why: string): Promise<Verdict> {
  await attempt.write('undeliverable', [alertCommand(attempt.keys, undeliverableAlert(attempt, why))]);
  return { kind: 'settle', conclusion: { outcome: 'undeliverable', reason, parts: [], ...(also && { also }) } };
}

/** A group that became a supergroup continues under its new id, with its conversation. */
async function moveChat(
  { ask: { settings } }: TurnPorts,
  { keys, chat, home, entry, session, trial, write }: Attempt,
  { outcome }: Conclusion,
  to: number,
): Promise<void> {
  const moved = chatKey(to);
  const isSameShard = shardOf(to, settings.shards) === shardOf(parseChatKey(chat)?.chatId ?? 0, settings.shards);
  const current = outcome === 'answered' ? session : (trial?.of ?? session);
  await write('migrated', [
    ['HSET', keys.turn(entry), MIGRATED_TO, to],
    ...(isSameShard && home !== moved ? joinLanes(keys, chat, moved, current) : []),
  ]);
}

/** From then on, what waits under the old id comes first, in the session of the new one: see `begin.lua`. */
function joinLanes(keys: Keys, from: ChatKey, to: ChatKey, session: SessionId): Command[] {
  return [
    ['HSETNX', keys.chat(to), 'session', session],
    ['HSET', keys.chat(to), 'movedFrom', from],
    ['HSET', keys.chat(from), 'movedTo', to],
  ];
}

function destinationOf(attempt: Attempt): Destination {
  const parsed = parseChatKey(attempt.home);
  if (!parsed) throw new Error(`not a chat key: ${attempt.home}`);
  const moved = attempt.field(MIGRATED_TO);
  if (moved !== undefined) return { chatId: Number(moved) };
  return { chatId: parsed.chatId, ...(parsed.topicId !== undefined && { topicId: parsed.topicId }) };
}
