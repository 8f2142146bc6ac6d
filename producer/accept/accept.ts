import { SpanKind } from '@opentelemetry/api';
import type { AllowedIds } from '../../shared/base/config.ts';
import type { Observability } from '../../shared/base/observability.ts';
import { METRIC, SPAN, traceparent } from '../../shared/base/telemetry.ts';
import { graphemePrefix } from '../../shared/base/text.ts';
import { type InboundMessage, laneOf, UnreadableMessageError } from '../../shared/flow/message.ts';
import { chatOf, type EntryId, type LaneKey } from '../../shared/redis/keys.ts';
import { type EditResult, type GroupMove, type Inbox, isExpected } from '../../shared/state/message/inbox.ts';
import type { OwnName } from '../receive/bot-profile.ts';
import type { Gate } from './gate.ts';
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
import { isSummons, readSummons } from './summons.ts';

/** How much is taken in. */
export interface AcceptLimits {
  textMaxChars: number;
  /** How many messages that are not for the bot are shown to the model with the next one that is. */
  groupContextMessages: number;
}

/** What Telegram wants answered before anything else is done. */
export interface AtOnce {
  /** Ends the wait of an app whose user pressed a button. Contract: never rejects; nothing depends on it. */
  answerPress(pressId: string): Promise<unknown>;
  /** Who may call the bot in chats that it is not part of, and what answers them. Absent: nobody may. */
  summons?: { guests: ReadonlySet<number>; begin(entry: EntryId, message: InboundMessage): void };
}

export interface AcceptPorts {
  botId: number;
  inbox: Inbox;
  /** Whom the bot answers now. Contract: rejects when nobody can say. */
  allowed: () => Promise<AllowedIds>;
  answersAll: AllowedIds;
  limits: AcceptLimits;
  ownName: OwnName;
  atOnce: AtOnce;
  observability: Observability;
}

/**
 * Takes in one update, from a poll or a delivery: puts it on the stream, applies it to a message there, or ignores it
 * on purpose and counts that.
 *
 * Contract: when it resolves, the update is dealt with and may be confirmed to Telegram; a second call has the same
 * result. Rejects when the update could not be stored; it must then come again. Idempotent per update id.
 */
export type AcceptUpdate = (update: unknown) => Promise<void>;

/** The decision about an update. */
type Task =
  | { kind: 'ignore'; reason: string; overheard?: InboundMessage }
  | { kind: 'store'; message: InboundMessage; isEdit?: boolean; mayBeNew?: boolean };

/** Accepts the updates of one bot into an inbox, beside any number of others. */
export function createAccept(ports: AcceptPorts): AcceptUpdate {
  const { telemetry, log, reach } = ports.observability;
  const open = openPlaces(ports);
  const overheard = new Overheard(ports.limits.groupContextMessages);
  const ignore = (reason: string) => {
    telemetry.count(METRIC.ignored, { reason });
    log.debug({ reason }, 'update ignored');
  };
  return async (update) => {
    reach('update received');
    const lists = await open.listsFor(groupIn(update));
    const gate = { ...lists, bot: { id: ports.botId, name: ports.ownName.current() } };
    const move = moveOf(update, gate);
    if (move !== undefined) {
      await ports.inbox.reportMove(move);
      open.follow(move);
    }
    const presence = presenceOf(update, gate);
    if (presence !== undefined) return ports.inbox.notePresence(presence);
    const task = await taskOf(ports, update, gate);
    if (task.kind === 'ignore') {
      if (task.overheard) overheard.note(task.overheard, Date.now());
      return ignore(task.reason);
    }
    const { mayBeNew = false } = task;
    const message = overheard.before(task.message, Date.now());
    const pressId = pressIdOf(update);
    try {
      const result = task.isEdit ? await storeEdit(ports, message, mayBeNew) : await store(ports, message);
      // Only now: a press whose app goes on waiting is pressed again.
      if (pressId !== undefined) void ports.atOnce.answerPress(pressId);
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

async function taskOf(ports: AcceptPorts, update: unknown, gate: Gate): Promise<Task> {
  const { botId, inbox, limits } = ports;
  if (isEdit(update)) {
    const edit = readEdit(update, gate, limits.textMaxChars);
    return edit.accept ? { ...edit, kind: 'store', isEdit: true } : { ...edit, kind: 'ignore' };
  }
  const decided = read(ports, update, gate);
  if (decided.accept) return { kind: 'store', message: decided.message };
  const isPiece =
    decided.reason === 'not_addressed' && isExpected(decided.message, await inbox.expected(botId, decided.message));
  if (isPiece) return { kind: 'store', message: decided.message };
  return { kind: 'ignore', reason: decided.reason, ...('message' in decided && { overheard: decided.message }) };
}

/** Decides about one update that is no edit, by its kind. */
function read({ atOnce, limits: { textMaxChars } }: AcceptPorts, update: unknown, gate: Gate): UpdateReading {
  if (isStop(update)) return readStop(update, gate, Date.now());
  if (pressIdOf(update) !== undefined) return readPress(update, gate, Date.now());
  if (isSummons(update)) return readSummons(update, gate, atOnce.summons?.guests, textMaxChars);
  return readUpdate(update, gate, textMaxChars);
}

/** The places that are open now; a group also under the id to which it moved. */
function openPlaces({ allowed, answersAll, inbox }: AcceptPorts) {
  const former = new Map<number, number>();
  const followed = (ids: AllowedIds): Gate['allowed'] =>
    ids === 'everyone' ? ids : { has: (id) => ids.has(id) || ids.has(former.get(id) ?? id) };
  return {
    follow: ({ from, to }: GroupMove): void => void former.set(to, from),
    /** Contract: rejects when Redis cannot be reached. */
    async listsFor(group: number | undefined): Promise<Pick<Gate, 'allowed' | 'answersAll'>> {
      const lists = { allowed: await allowed(), answersAll };
      const isNews = (ids: AllowedIds, id: number) => ids !== 'everyone' && ids.size > 0 && !ids.has(id);
      if (group !== undefined && !former.has(group) && Object.values(lists).some((ids) => isNews(ids, group))) {
        // Another process may have seen the move of a group that is not named.
        const from = await inbox.movedFrom(group);
        if (from !== undefined) former.set(group, from);
      }
      return { allowed: followed(lists.allowed), answersAll: followed(answersAll) };
    },
  };
}

type Ports = Pick<AcceptPorts, 'botId' | 'inbox' | 'atOnce' | 'observability'>;

/** Why an edit changed nothing, as it is counted. */
const IGNORED: Readonly<Record<Exclude<EditResult, 'new' | 'repeated' | 'replaced'>, string>> = {
  unchanged: 'edit_unchanged',
  'too late': 'edit_too_late',
  command: 'edit_of_a_command',
  unknown: 'edit_unknown',
};

/** Puts a message on the stream, once. Contract: as `Inbox.accept`. */
export async function store(ports: Ports, message: InboundMessage): Promise<'accepted'> {
  const stored = await traced(ports, message, (inbox) => inbox.accept(ports.botId, message, traceparent()));
  // One that came before was begun then, or waits for the worker that answers it.
  if (message.summons && !stored.duplicate) ports.atOnce.summons?.begin(stored.entry, message);
  return 'accepted';
}

/**
 * Applies an edit. Returns `accepted` where it became a message of its own, `replaced` where it changed one that waits,
 * or else why it is ignored. Contract: as `Inbox.edit`.
 */
export async function storeEdit(ports: Ports, message: InboundMessage, mayBeNew: boolean): Promise<string> {
  const { result } = await traced(ports, message, async (inbox) => {
    const edited = await inbox.edit(ports.botId, message, traceparent(), mayBeNew);
    return { ...edited, duplicate: edited.result !== 'new' };
  });
  if (result === 'new' || result === 'repeated') return 'accepted';
  return result === 'replaced' ? result : IGNORED[result];
}

async function traced<Stored extends { entry: EntryId | ''; duplicate: boolean }>(
  { inbox, observability: { telemetry } }: Ports,
  message: InboundMessage,
  put: (inbox: Inbox) => Promise<Stored>,
): Promise<Stored> {
  const attributes = {
    'messaging.system': 'telegram',
    'spillway.update.id': message.updateId,
    ...telemetry.chat(chatOf(laneOf(message))),
  };
  return telemetry.span(
    SPAN.receive,
    attributes,
    async (span) => {
      const stored = await put(inbox);
      span.setAttributes({ 'messaging.message.id': stored.entry, 'spillway.duplicate': stored.duplicate });
      if (!stored.duplicate) telemetry.count(METRIC.accepted, {});
      return stored;
    },
    { kind: SpanKind.CONSUMER, root: true },
  );
}

/** A remark in a group that was not made to the bot. */
type Remark = NonNullable<InboundMessage['overheard']>[number];

const REMARK_CHARS = 500;
const LANES_MAX = 1_000;
/** An older remark has little to do with a question. */
const AGE_MS_MAX = 3_600_000;

/**
 * The newest messages of each group that were not for the bot, as context for the next one that is. They are in the
 * memory of this process alone, for an hour: what nobody asks about is never stored, and a restart forgets it.
 */
export class Overheard {
  readonly #remarks = new Map<LaneKey, { remark: Remark; atMs: number }[]>();
  readonly #messagesMax: number;

  /** Keeps at most so many messages of a group, or of a topic in it; none for 0. */
  constructor(messagesMax: number) {
    this.#messagesMax = messagesMax;
  }

  /** Notes a message that is not for the bot. */
  note(message: InboundMessage, nowMs: number): void {
    const { content, from } = message;
    const text = 'text' in content ? graphemePrefix(content.text ?? '', REMARK_CHARS).trim() : '';
    if (this.#messagesMax === 0 || text === '') return;
    const lane = laneOf(message);
    const kept = [
      ...(this.#remarks.get(lane) ?? []),
      { remark: { by: from.name ?? String(from.id), text }, atMs: nowMs },
    ];
    this.#remarks.delete(lane);
    this.#remarks.set(lane, kept.slice(-this.#messagesMax));
    const [oldest] = this.#remarks.keys();
    if (this.#remarks.size > LANES_MAX && oldest !== undefined) this.#remarks.delete(oldest);
  }

  /** The message with what was said before it. */
  before(message: InboundMessage, nowMs: number): InboundMessage {
    const kept = this.#remarks.get(laneOf(message)) ?? [];
    const overheard = kept.filter(({ atMs }) => nowMs - atMs <= AGE_MS_MAX).map(({ remark }) => remark);
    return overheard.length === 0 ? message : { ...message, overheard };
  }

  /** Forgets what was said before a message that is stored now. */
  clear(message: InboundMessage): void {
    this.#remarks.delete(laneOf(message));
  }
}
