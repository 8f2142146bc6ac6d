import { traceIdOf } from '../../base/telemetry.ts';
import { type Decoded, decodeMessage, type InboundMessage } from '../../flow/message.ts';
import { type ChatKey, chatOf, type EntryId, type Keys, type LaneKey, type SessionId } from '../../redis/keys.ts';
import { msOf } from '../../redis/stream.ts';
import type { Destination } from '../../telegram/messages.ts';
import { type Texts, textsFor } from '../../texts/language.ts';
import type { FencedWrites } from '../change.ts';
import { type Choice, chatFieldsOf, destinationOf, goneMsOf } from '../chat/chat.ts';
import { type ChatSettings, type ChatTable, settingsOfChat } from '../chat/chat-settings.ts';
import type { ToolGrant } from '../chat/tool-grants.ts';
import type { Payer } from '../spending/limit.ts';
import { OUTAGE, Waits } from './aspects.ts';
import { type Conclusion, RECOVERY_STAGES, type RecoveryStage, type Trial, TurnRecord } from './record.ts';

/** The state of a message, its chat and its session at the beginning of an attempt, from `begin.lua`. */
interface StateAtBegin {
  entry: EntryId;
  lane: LaneKey;
  /** The supergroup that the chat became, or else the chat. */
  currentChat: ChatKey;
  session: SessionId;
  entryFields: ReadonlyMap<string, string>;
  turnFields: ReadonlyMap<string, string>;
  sessionFields: ReadonlyMap<string, string>;
  chatFields: ReadonlyMap<string, string>;
  /** How many messages are behind this one in its lane. */
  messagesBehind: number;
  /** When the bot left the chat or came back, in the stored form that `goneMsOf` reads; empty if neither happened. */
  absence: string;
}

/** The data and services of a shard that a turn uses. */
interface TurnSource {
  keys: Keys;
  chats: ChatTable;
  /** The time of Redis, in ms since the epoch. */
  nowMs(): number;
}

/** The properties that `with` may replace in a copy of the turn. */
type Replaceable = 'notices' | 'memory' | 'rounds' | 'attempts' | 'silences' | 'recoveriesBefore' | 'stage';

/**
 * One attempt at a message. Fenced writes (`write`, `asWrite`) check the attempt's fencing token, so an attempt that was frozen
 * changes nothing if it resumes after another attempt has begun. The writes are numbered: if Redis loses a write in a failover,
 * it refuses all later writes of this attempt, and the next attempt continues from the data that Redis still has.
 *
 * The properties are as of the beginning of the attempt, unless a copy replaces them. The methods of `TurnRecord` that change
 * something return changes for `write`.
 *
 * `Env` is the type of the services that the steps of the turn use.
 */
export class Turn<Env = unknown> extends TurnRecord {
  /** The services that the steps of the turn use. Undefined until `withEnv` sets them. */
  readonly env = undefined as Env;
  readonly entry: EntryId;
  /** The lane whose head is this message. */
  readonly lane: LaneKey;
  readonly chat: ChatKey;
  /** The chat that owns the session, the data and the costs; differs from `chat` if `chat` became a supergroup. */
  readonly currentChat: ChatKey;
  /** Where replies go: the chat of the message, with its topic, or the supergroup that this chat became. */
  readonly destination: Destination;
  /** The Redis keys. `keys.chat(chat)` is the key of `currentChat`, so that a group keeps its state as a supergroup. */
  readonly keys: Keys;
  /** Random, so it stays unique even if Redis loses the record of another attempt. */
  readonly fencingToken: string;
  /** 1 for the first attempt; restarts at 1 after each recovery step, after each round of tools and at the conclusion. */
  readonly attempts: number;
  readonly recoveries: number;
  /** How many recoveries came before the last round of tools. The limit on recoveries counts only later recoveries. */
  readonly recoveriesBefore: number;
  readonly stage: RecoveryStage;
  /** How many rounds of tools are recorded for this message, in all sessions together. */
  readonly rounds: number;
  readonly message: Decoded<InboundMessage>;
  /** The kind of the message's content; `undefined` if the message is unreadable. */
  readonly kind: string | undefined;
  /** Whether the message is a summons. */
  readonly isElsewhere: boolean;
  /** The entry whose dead letter was replayed as this message, if any. */
  readonly replayOf: EntryId | undefined;
  /** Whether no message was behind this one in its lane when the attempt began. */
  readonly isAloneAtBegin: boolean;
  /** The time at which the bot was blocked or removed, in ms since the epoch; 0 if the bot may write to the chat. */
  readonly goneMs: number;
  readonly traceparent: string;
  readonly session: SessionId;
  /** The session's copy of the chat's memory, which the session's requests state; absent until an attempt makes the copy. */
  readonly memory: string | undefined;
  /** The window of the model `of`, if a provider's error in this session stated the window and `untilMs` has not passed. */
  readonly limit: { readonly tokens: number; readonly untilMs: number; readonly of: string } | undefined;
  /** The chat's ratio of tokens used to tokens estimated; absent before the first measurement. */
  readonly calibration: number | undefined;
  /** How many messages the newest summary of this session replaced; 0 once an answer has reported the number. */
  readonly unreportedCompactions: number;
  /** How many compactions in a row failed in this session, or did not make its window small enough. */
  readonly vainCompactions: number;
  /** The finished part of an incomplete summary of this session, as JSON; absent if there is none. */
  readonly summaryPart: string | undefined;
  /** How many messages of this session have counted as refused since the model last answered one. */
  readonly refusalsInRow: number;
  /** How often the model has fallen silent, for too long or after its first words, since the last recovery or tool round. */
  readonly silences: number;
  /**
   * When the previous attempt began, in ms since the epoch, if that attempt stored no verdict because its process was killed or
   * lost Redis.
   */
  readonly cutFromMs: number | undefined;
  /** Whether the model refused the content of this message or of its conversation. */
  readonly isSuspect: boolean;
  /** The trial of this message, while the message runs in the trial's fresh session. */
  readonly trial: Trial | undefined;
  /** The changed limit on output: lowered after input and output together did not fit, raised after thinking used it up. */
  readonly maxOutputTokens: number | undefined;
  readonly conclusion: Conclusion | undefined;
  /** Lines for the user above the answer, e.g. about a fresh session. */
  readonly notices: readonly string[];
  /** Lines about unread parts of this message, for the answer only. */
  readonly readingNotices: readonly string[];
  /** The texts in the chat's language: set by a command, or else by the operator, or else by the sender's Telegram app. */
  readonly texts: Texts;
  /** The operator's settings for this chat. */
  readonly chatSettings: ChatSettings;
  /** A choice that people made for the chat with a command, if any. */
  readonly choice: (name: Choice) => string | undefined;
  /** Permissions for the chat to use tools without an approval; some may have expired. */
  readonly toolGrants: readonly ToolGrant[];
  /** The end of the wait that Telegram demanded for the chat (429), in ms since the epoch; 0 without one. */
  readonly quietUntilMs: number;
  /** The chat's messages whose answers Telegram refused, oldest first, for a replay once the chat accepts a message. */
  readonly refusedAnswers: readonly EntryId[];
  /** The number of the chat's messages that a full lane refused and no reply has reported yet; 0 in a lane of commands. */
  readonly laneRefusals: number;
  /** The time of Redis, in ms since the epoch. Entry ids are times of the same clock. */
  readonly nowMs: () => number;
  readonly write: FencedWrites['write'];
  readonly assertOwned: FencedWrites['assertOwned'];
  readonly asWrite: FencedWrites['asWrite'];
  readonly afterWrites: FencedWrites['afterWrites'];
  protected readonly begunAtMs = performance.now();

  constructor(start: StateAtBegin, source: TurnSource, writes: FencedWrites) {
    const { entryFields, turnFields, sessionFields } = start;
    super(source.keys.turn(start.entry), turnFields);
    const chatFields = chatFieldsOf(start.chatFields);
    const chat = chatOf(start.lane);
    const stage = stageOf(this.text('stage') ?? 'none');
    const trial = this.json<Trial>('trial');
    // The trial does not apply if the chat moved to another session meanwhile.
    const isForeign = trial !== undefined && trial.in !== start.session;
    this.entry = start.entry;
    this.lane = start.lane;
    this.chat = chat;
    this.currentChat = start.currentChat;
    this.destination = destinationOf(start.currentChat, this.migratedTo);
    this.keys = { ...source.keys, chat: (key) => source.keys.chat(key === chat ? start.currentChat : key) };
    this.fencingToken = this.text('fence') ?? '';
    this.attempts = this.number('attempts') ?? 0;
    this.recoveries = this.number('recoveries') ?? 0;
    this.recoveriesBefore = this.number('recoveriesBefore') ?? 0;
    this.stage = isForeign || !isStage(stage) ? 'none' : stage;
    this.rounds = this.number('rounds') ?? 0;
    const json = this.text('edited') ?? entryFields.get('message');
    this.message = isStage(stage) ? decodeMessage(json) : messageOfLaterVersion(stage);
    this.replayOf = entryFields.get('replayed') as EntryId | undefined;
    this.isAloneAtBegin = start.messagesBehind === 0;
    this.goneMs = goneMsOf(start.absence);
    this.traceparent = entryFields.get('traceparent') ?? '';
    this.session = start.session;
    this.memory = sessionFields.get('memory');
    this.limit = limitOf(sessionFields);
    this.summaryPart = sessionFields.get('summaryPart');
    this.unreportedCompactions = Number(sessionFields.get('unreportedCompactions') ?? 0);
    this.vainCompactions = Number(sessionFields.get('vainCompactions') ?? 0);
    this.refusalsInRow = Number(sessionFields.get('refusalsInRow') ?? 0);
    this.silences = this.number('silences') ?? 0;
    this.cutFromMs = this.number('cutFrom');
    this.isSuspect = turnFields.has('blamed');
    this.trial = isForeign ? undefined : trial;
    this.maxOutputTokens = this.number('maxOutputTokens');
    this.conclusion = this.json('conclusion');
    this.notices = this.json('notices') ?? [];
    this.readingNotices = this.json('readingNotices') ?? [];
    this.chatSettings = settingsOfChat(source.chats, chat, start.currentChat, chatFields.movedFrom);
    this.choice = chatFields.choice;
    this.calibration = chatFields.calibration;
    this.toolGrants = chatFields.toolGrants;
    this.quietUntilMs = chatFields.quietUntilMs;
    this.refusedAnswers = chatFields.refusedAnswers;
    this.laneRefusals = start.lane === chat ? chatFields.laneRefusals : 0;
    const message = this.message.ok ? this.message.value : undefined;
    this.kind = message?.content.kind;
    this.isElsewhere = message?.summons !== undefined;
    this.texts = textsFor(this.choice('language') ?? this.chatSettings.language, message?.from.language);
    this.nowMs = source.nowMs;
    this.write = writes.write;
    this.assertOwned = writes.assertOwned;
    this.asWrite = writes.asWrite;
    this.afterWrites = writes.afterWrites;
  }

  /** A copy with other services. */
  withEnv<Other>(env: Other): Turn<Other> {
    return copyOf(this, { env });
  }

  /** A copy with other properties, for the rest of the attempt. */
  with(properties: Partial<Pick<Turn, Replaceable>>): this {
    return copyOf(this, properties);
  }

  /** A copy whose replies go to the supergroup that the group of the message became. */
  movedTo(chatId: number): this {
    return copyOf(this, { destination: { chatId } });
  }

  /** A copy whose wait for the endpoint is 0, for the rest of the attempt after a round of tools. */
  withoutOutage(): this {
    const fields = new Map(this.fields);
    for (const name of OUTAGE) fields.delete(name);
    return copyOf(this, { fields, waits: new Waits(this.key, fields) });
  }

  /** The time that this attempt has run, by the monotonic clock. */
  elapsedMs(): number {
    return performance.now() - this.begunAtMs;
  }

  /** How long this attempt and earlier attempts have run, as far as the earlier ones stored their time. */
  totalMs(): number {
    return this.spentMs + this.elapsedMs();
  }

  /**
   * The age of the message: the time since its acceptance, which the entry id states. Never below 0, although `nowMs` may lag
   * by half a round trip.
   */
  ageMs(): number {
    return Math.max(0, this.nowMs() - msOf(this.entry));
  }

  /** The summons, if the message is one. */
  get summons(): InboundMessage['summons'] {
    return this.message.ok ? this.message.value.summons : undefined;
  }

  /** Whether the sender is a guest: a member of an allowed group who is not on the allow list, or the author of a summons. */
  get isOfGuest(): boolean {
    return this.message.ok && this.message.value.from.isGuest === true;
  }

  /** The message, and the earlier messages in `merge.reportsFor`. */
  get entries(): readonly EntryId[] {
    return [this.entry, ...this.merge.reportsFor];
  }

  /** The chat and the person whose budgets pay for the calls of the attempt; only the chat if the message is unreadable. */
  get payer(): Payer {
    const { chat, currentChat, entry } = this;
    const chatPayer = { chat, currentChat, entry, traceId: traceIdOf(this.traceparent), ownLimits: this.chatSettings };
    if (!this.message.ok) return chatPayer;
    const { from, chatType } = this.message.value;
    const inGroup = chatType === 'private' ? {} : { groupName: from.name ?? '' };
    return { ...chatPayer, person: from.id, isGuest: this.isOfGuest, ...inGroup };
  }

  /** The chat's session after this conclusion. A trial moves the chat to the fresh session only if the message is answered. */
  sessionAfter({ outcome }: Conclusion): SessionId {
    return outcome === 'answered' ? this.session : (this.trial?.of ?? this.session);
  }
}

function copyOf<Copy extends Turn>(turn: Turn, parts: object): Copy {
  return Object.assign(Object.create(Turn.prototype), turn, parts);
}

function isStage(stage: string): stage is RecoveryStage {
  return RECOVERY_STAGES.some((each) => each === stage);
}

/** Stages that only version 0.4 stored, each with the stage that now takes its place. */
const FORMER_STAGES: Readonly<Record<string, RecoveryStage>> = { bare: 'fresh', scrubbed: 'fresh' };

function stageOf(storedStage: string): string {
  return FORMER_STAGES[storedStage] ?? storedStage;
}

/** Treats a message as unreadable if only a later version knows its stage, because this version would repeat finished steps. */
function messageOfLaterVersion(stage: string): Turn['message'] {
  return { ok: false, problem: `stage: ${stage} is none of ${RECOVERY_STAGES.join(', ')}`, isNewer: true };
}

function limitOf(session: ReadonlyMap<string, string>): Turn['limit'] {
  const tokens = session.get('limitTokens');
  const untilMs = Number(session.get('limitUntilMs') ?? 0);
  if (tokens === undefined || untilMs <= Date.now()) return undefined;
  return { tokens: Number(tokens), untilMs, of: session.get('limitOf') ?? '' };
}
