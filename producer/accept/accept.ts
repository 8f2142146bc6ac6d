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
 * Takes in one update, from a poll or a delivery: puts it on the stream, applies it to a message there, or ignores it
 * on purpose and counts that.
 *
 * Contract: when it resolves, the update is dealt with and may be confirmed to Telegram; a second call has the same
 * result. Rejects when the update could not be stored; it must then come again. Idempotent per update id.
 */
export type AcceptUpdate = (update: unknown) => Promise<void>;

/** The answer to a person who presses a button under an alert and is no operator. */
const OPERATORS_ONLY = 'Only the operators of this bot can do that.';

/** The decision about an update. */
type Task =
  | { kind: 'ignore'; reason: string; overheard?: InboundMessage }
  | { kind: 'store'; message: InboundMessage; isEdit?: boolean; mayBeNew?: boolean };

/** Accepts the updates of one bot into an inbox, beside any number of others. Without a summoner nobody begins an answer. */
export function createAccept(env: ProducerEnv, summoner?: Pick<Summoner, 'begin'>): AcceptUpdate {
  const { settings, telegram, inbox, telemetry, log, reach } = env;
  const open = openPlaces(env);
  const overheard = new Overheard(settings.GROUP_CONTEXT_MESSAGES);
  const ignore = (reason: string) => {
    telemetry.count(METRIC.ignored, { reason });
    log.debug({ reason }, 'update ignored');
  };
  return async (update) => {
    reach('update received');
    const lists = await open.listsFor(groupIn(update));
    const gate = { ...lists, bot: { id: telegram.botId, name: env.botName() } };
    const move = moveOf(update, gate);
    if (move !== undefined) {
      await inbox.reportMove(move);
      open.follow(move);
    }
    const presence = presenceOf(update, gate);
    if (presence !== undefined) return inbox.notePresence(presence);
    const task = await taskOf(env, update, gate);
    const pressId = pressIdOf(update);
    if (task.kind === 'ignore') {
      const words = task.reason === 'not_an_operator' ? OPERATORS_ONLY : undefined;
      // Also for a button that names no command, such as one of an earlier bot: until then its app waits. Strangers get none.
      if (pressId !== undefined && task.reason !== 'not_allowed') void telegram.answerPress(pressId, words);
      if (task.overheard) overheard.note(task.overheard, Date.now());
      return ignore(task.reason);
    }
    const { mayBeNew = false } = task;
    const message = overheard.before(task.message, Date.now());
    try {
      const result = task.isEdit ? await storeEdit(env, message, mayBeNew) : await store(env, summoner, message);
      // Only now: a press whose app goes on waiting is pressed again.
      if (pressId !== undefined) void telegram.answerPress(pressId);
      if (result !== 'accepted') return result === 'replaced' ? undefined : ignore(result);
      overheard.clear(message);
    } catch (error) {
      if (!(error instanceof UnreadableMessageError)) throw error;
      // A retry would fail again, and hold up every chat behind it.
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
  return { kind: 'ignore', reason: reading.reason, ...('message' in reading && { overheard: reading.message }) };
}

/** Decides about one update that is no edit, by its kind. */
function read({ settings }: ProducerEnv, update: unknown, gate: Gate): UpdateReading {
  const { TELEGRAM_GUESTS: guests, INBOUND_TEXT_MAX_CHARS: textMaxChars } = settings;
  const atDesk = readDesk(update, gate, Date.now());
  if (atDesk !== undefined) return atDesk;
  if (isStop(update)) return readStop(update, gate, Date.now());
  if (pressIdOf(update) !== undefined) return readPress(update, gate, Date.now());
  if (isFields(update) && 'guest_message' in update) return readSummons(update, gate, guests, textMaxChars);
  return readUpdate(update, gate, textMaxChars);
}

/** Whether a chat may become a supergroup with another id: a group that is none yet. */
function mayMove(chatId: number): boolean {
  return chatId < 0 && chatId > -1_000_000_000_000;
}

/** The places that are open now; a group also under the id to which it moved. */
function openPlaces({ settings, allowed, inbox }: ProducerEnv) {
  const answersAll = settings.TELEGRAM_ANSWER_ALL_IDS;
  const desk = deskOf(settings);
  const former = new Map<number, number>();
  const followed = (ids: AllowedIds): Gate['allowed'] =>
    ids === 'everyone' ? ids : { has: (id) => ids.has(id) || ids.has(former.get(id) ?? id) };
  return {
    follow: ({ from, to }: GroupMove): void => void former.set(to, from),
    /** Contract: rejects when Redis cannot be reached. */
    async listsFor(group: number | undefined): Promise<Pick<Gate, 'allowed' | 'answersAll' | 'desk'>> {
      const desks = new Set(desk !== undefined && mayMove(desk.chatId) ? [desk.chatId] : []);
      const lists = { allowed: await allowed(), answersAll, desks };
      const isNews = (ids: AllowedIds, id: number) => ids !== 'everyone' && ids.size > 0 && !ids.has(id);
      if (group !== undefined && !former.has(group) && Object.values(lists).some((ids) => isNews(ids, group))) {
        // Another process may have seen the move of a group that is not named.
        const from = await inbox.movedFrom(group);
        if (from !== undefined) former.set(group, from);
      }
      const isDesk = group !== undefined && former.get(group) === desk?.chatId;
      return {
        allowed: followed(lists.allowed),
        answersAll: followed(answersAll),
        desk: desk && isDesk ? { ...desk, chatId: group } : desk,
      };
    },
  };
}

/** Why an edit changed nothing, as it is counted. */
const IGNORED: Readonly<Record<Exclude<EditResult, 'new' | 'repeated' | 'replaced'>, string>> = {
  unchanged: 'edit_unchanged',
  'too late': 'edit_too_late',
  command: 'edit_of_a_command',
  unknown: 'edit_unknown',
};

/** Puts a message on the stream, once. Contract: as `Inbox.accept`. */
async function store(
  env: ProducerEnv,
  summoner: Pick<Summoner, 'begin'> | undefined,
  message: InboundMessage,
): Promise<'accepted'> {
  const { inbox, telegram } = env;
  const stored = await traced(env, message, () => inbox.accept(telegram.botId, message, traceparent()));
  // One that came before was begun then, or waits for the worker that answers it.
  if (message.summons && !stored.duplicate) summoner?.begin(stored.entry, message);
  return 'accepted';
}

/**
 * Applies an edit. Returns `accepted` where it became a message of its own, `replaced` where it changed one that waits,
 * or else why it is ignored. Contract: as `Inbox.edit`.
 */
async function storeEdit(env: ProducerEnv, message: InboundMessage, mayBeNew: boolean): Promise<string> {
  const { inbox, telegram } = env;
  const { result } = await traced(env, message, async () => {
    const edited = await inbox.edit(telegram.botId, message, traceparent(), mayBeNew);
    return { ...edited, duplicate: edited.result !== 'new' };
  });
  if (result === 'new' || result === 'repeated') return 'accepted';
  return result === 'replaced' ? result : IGNORED[result];
}

async function traced<Stored extends { entry: EntryId | ''; duplicate: boolean }>(
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
