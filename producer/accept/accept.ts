import { SpanKind } from '@opentelemetry/api';
import { isFields } from '../../shared/base/fields.ts';
import type { AllowedIds } from '../../shared/base/settings.ts';
import { METRIC, messaging, SPAN, traceparent } from '../../shared/base/telemetry.ts';
import { type InboundMessage, laneOf, UnreadableMessageError } from '../../shared/flow/message.ts';
import { chatOf, type EntryId } from '../../shared/redis/keys.ts';
import { type EditResult, type GroupMove, isExpected } from '../../shared/state/message/inbox.ts';
import type { ProducerEnv } from '../env.ts';
import { deskOf, readDesk } from './desk.ts';
import type { Gate } from './gate.ts';
import { readSummons, type Summoner } from './guest-call.ts';
import { Overheard } from './overheard.ts';
import {
  groupIn,
  isEdit,
  isStop,
  moveOf,
  presenceOf,
  pressIdOf,
  readEdit,
  readPress,
  readStop,
  readUpdate,
  type UpdateReading,
} from './read-update.ts';

/**
 * Accepts one update from a poll or a webhook: stores its message on the stream, applies an edit to a stored message, stores
 * that a group became a supergroup or that the bot was removed, was blocked or is back, or ignores the update and counts it.
 * A stranger's message may become a request for access instead.
 *
 * Contract: idempotent per update id. Once the promise resolves, the caller may confirm the update to Telegram. Rejects when
 * Redis could not be used; the caller must then leave the update unconfirmed, so that Telegram sends it again.
 */
export type AcceptUpdate = (update: unknown) => Promise<void>;

/** The answer to a press of an operators' button by somebody who is not an operator. */
const OPERATORS_ONLY = 'Only the operators of this bot can do that.';

/** The decision about an update. */
type Task =
  | { kind: 'ignore'; reason: string; overheard?: InboundMessage }
  | { kind: 'store'; message: InboundMessage; isEdit?: boolean; mayBeNew?: boolean };

/** Creates the function that accepts updates. Without `summoner`, only a worker sends the first message for a summons. */
export function createAccept(env: ProducerEnv, summoner?: Pick<Summoner, 'begin'>): AcceptUpdate {
  const { settings, telegram, inbox, telemetry, log, reach } = env;
  const places = createPlaces(env);
  const overheard = new Overheard(settings.GROUP_CONTEXT_MESSAGES);
  const ignore = (reason: string) => {
    telemetry.count(METRIC.ignored, { reason });
    log.debug({ reason }, 'update ignored');
  };
  return async (update) => {
    reach('update received');
    const lists = await places.listsFor(groupIn(update));
    const gate = { ...lists, bot: { id: telegram.botId, name: env.botName() } };
    const move = moveOf(update, gate);
    if (move !== undefined) {
      await inbox.reportMove(move);
      places.follow(move);
    }
    const presence = presenceOf(update, gate);
    if (presence !== undefined) return inbox.notePresence(presence);
    const task = await taskOf(env, update, gate);
    const pressId = pressIdOf(update);
    if (task.kind === 'ignore') {
      const words = task.reason === 'not_an_operator' ? OPERATORS_ONLY : undefined;
      // After a press of a button, the person's Telegram app waits until the press is answered, even if the button has no
      // command. A press that the allow list rejects gets no answer.
      if (pressId !== undefined && task.reason !== 'not_allowed') void telegram.answerPress(pressId, words);
      if (task.overheard) overheard.note(task.overheard, Date.now());
      return ignore(task.reason);
    }
    const { mayBeNew = false } = task;
    const message = overheard.addTo(task.message, Date.now());
    try {
      const result = task.isEdit ? await storeEdit(env, message, mayBeNew) : await store(env, summoner, message);
      // Answer the press only after the write: while the write fails, the Telegram app shows the person that it still waits.
      if (pressId !== undefined) void telegram.answerPress(pressId);
      if (result !== 'accepted') return result === 'replaced' ? undefined : ignore(result);
      overheard.clear(message);
    } catch (error) {
      if (!(error instanceof UnreadableMessageError)) throw error;
      // Skip the update: another try would fail again, and the update would block its chat.
      telemetry.count(METRIC.ignored, { reason: 'malformed' });
      log.error({ err: error, update: message.updateId }, 'an update that cannot be encoded was skipped');
      return;
    }
    reach('accepted');
  };
}

async function taskOf(env: ProducerEnv, update: unknown, gate: Gate): Promise<Task> {
  const { settings, telegram, inbox } = env;
  if (isEdit(update)) {
    const edit = readEdit(update, gate, settings.INBOUND_TEXT_MAX_CHARS);
    return edit.accept ? { ...edit, kind: 'store', isEdit: true } : { ...edit, kind: 'ignore' };
  }
  const reading = read(env, update, gate);
  if (reading.accept) return { kind: 'store', message: reading.message };
  const isPiece =
    reading.reason === 'not_addressed' &&
    isExpected(reading.message, await inbox.expected(telegram.botId, reading.message));
  if (isPiece) return { kind: 'store', message: reading.message };
  const request = reading.reason === 'not_allowed' ? await env.knock(update, gate) : undefined;
  if (request !== undefined) return { kind: 'store', message: request };
  return { kind: 'ignore', reason: reading.reason, ...('message' in reading && { overheard: reading.message }) };
}

/** Reads an update of any kind but an edit. */
function read({ settings }: ProducerEnv, update: unknown, gate: Gate): UpdateReading {
  const { TELEGRAM_GUESTS: guests, INBOUND_TEXT_MAX_CHARS: textMaxChars } = settings;
  const atDesk = readDesk(update, gate, Date.now());
  if (atDesk !== undefined) return atDesk;
  if (isStop(update)) return readStop(update, gate, Date.now());
  if (pressIdOf(update) !== undefined) return readPress(update, gate, Date.now());
  if (isFields(update) && 'guest_message' in update) return readSummons(update, gate, guests, textMaxChars);
  return readUpdate(update, gate, textMaxChars);
}

/** Whether an id is that of a basic group, which may become a supergroup with another id. */
function isBasicGroup(chatId: number): boolean {
  return chatId < 0 && chatId > -1_000_000_000_000;
}

/** Provides the gate's lists of chats. A listed group that became a supergroup counts as listed under its new id, too. */
function createPlaces({ settings, allowed, inbox }: ProducerEnv) {
  const answersAll = settings.TELEGRAM_ANSWER_ALL_IDS;
  const desk = deskOf(settings);
  const former = new Map<number, number>();
  const includeMoved = (ids: AllowedIds): Gate['allowed'] =>
    ids === 'everyone' ? ids : { has: (id) => ids.has(id) || ids.has(former.get(id) ?? id) };
  return {
    follow: ({ from, to }: GroupMove): void => void former.set(to, from),
    /** The lists for an update from `group`, or from no group. Contract: rejects when Redis cannot be reached. */
    async listsFor(group: number | undefined): Promise<Pick<Gate, 'allowed' | 'answersAll' | 'desk'>> {
      const desks = new Set(desk !== undefined && isBasicGroup(desk.chatId) ? [desk.chatId] : []);
      const lists = { allowed: await allowed(), answersAll, desks };
      const isMissing = (ids: AllowedIds, id: number) => ids !== 'everyone' && ids.size > 0 && !ids.has(id);
      if (group !== undefined && !former.has(group) && Object.values(lists).some((ids) => isMissing(ids, group))) {
        // An unlisted group may be a listed one under its new id. Ask Redis, because another process may have seen the move.
        const from = await inbox.movedFrom(group);
        if (from !== undefined) former.set(group, from);
      }
      const isDesk = group !== undefined && former.get(group) === desk?.chatId;
      return {
        allowed: includeMoved(lists.allowed),
        answersAll: includeMoved(answersAll),
        desk: desk && isDesk ? { ...desk, chatId: group } : desk,
      };
    },
  };
}

/** The metric's `reason` for an ignored edit, by the result of the edit. */
const IGNORED: Readonly<Record<Exclude<EditResult, 'new' | 'repeated' | 'replaced'>, string>> = {
  unchanged: 'edit_unchanged',
  'too late': 'edit_too_late',
  command: 'edit_of_a_command',
  unknown: 'edit_unknown',
};

/** Stores a message on the stream. Rejects when Redis does not confirm the write; a retry stores no second copy. */
async function store(
  env: ProducerEnv,
  summoner: Pick<Summoner, 'begin'> | undefined,
  message: InboundMessage,
): Promise<'accepted'> {
  const { inbox, telegram } = env;
  const stored = await traceWrite(env, message, () => inbox.accept(telegram.botId, message, traceparent()));
  // If the update is a repeat, leave the first message to the producer that stored the update, or to a worker.
  if (message.summons && !stored.duplicate) summoner?.begin(stored.entry, message);
  return 'accepted';
}

/**
 * Applies an edit. Returns `accepted` if the edit became a new message, now or at an earlier delivery, and `replaced` if it
 * changed a waiting message; otherwise the reason to ignore the edit. Rejects when Redis does not confirm the write.
 */
async function storeEdit(env: ProducerEnv, message: InboundMessage, mayBeNew: boolean): Promise<string> {
  const { inbox, telegram } = env;
  const { result } = await traceWrite(env, message, async () => {
    const edited = await inbox.edit(telegram.botId, message, traceparent(), mayBeNew);
    return { ...edited, duplicate: edited.result !== 'new' };
  });
  if (result === 'new' || result === 'repeated') return 'accepted';
  return result === 'replaced' ? result : IGNORED[result];
}

async function traceWrite<Stored extends { entry: EntryId | ''; duplicate: boolean }>(
  { telemetry }: ProducerEnv,
  message: InboundMessage,
  put: () => Promise<Stored>,
): Promise<Stored> {
  const attributes = {
    ...messaging('receive', 'telegram'),
    'spillway.update.id': message.updateId,
    ...telemetry.chat(chatOf(laneOf(message))),
  };
  return telemetry.span(
    SPAN.receive,
    attributes,
    async (span) => {
      const stored = await put();
      span.setAttributes({ 'messaging.message.id': stored.entry, 'spillway.duplicate': stored.duplicate });
      if (!stored.duplicate) telemetry.count(METRIC.accepted, {});
      return stored;
    },
    { kind: SpanKind.CLIENT, root: true },
  );
}
