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

/** The state of a message, its chat and its session, as `begin.lua` returned it. */
interface BegunFields {
  entry: EntryId;
  lane: LaneKey;
  /** The supergroup that the chat became, or else the chat. */
  currentChat: ChatKey;
  session: SessionId;
  /** The fields of the entry, the turn, the session and the chat. */
  entryFields: ReadonlyMap<string, string>;
  turnFields: ReadonlyMap<string, string>;
  sessionFields: ReadonlyMap<string, string>;
  chatFields: ReadonlyMap<string, string>;
  /** How many messages stand behind this one in its lane. */
  behind: number;
  /** Since when the bot cannot write to the chat, as `goneMsOf` reads it. */
  absence: string;
}

/** The parts of a turn that its shard provides. */
interface TurnSource {
  keys: Keys;
  chats: ChatTable;
  /** The time of Redis, in ms since the epoch. */
  nowMs(): number;
}

/** The findings of a turn that a step may replace in a copy; see `with`. */
type Replaceable = 'notices' | 'memory' | 'rounds' | 'attempts' | 'silences' | 'recoveriesBefore' | 'stage';

/**
 * One message on its way, in one attempt, with the proof that this attempt owns it. All writes go through `write`, which
 * checks the fencing token: an attempt that was frozen and resumes can change nothing. Its writes are numbered: after Redis
 * has lost one, in a failover, all later writes of this attempt are refused, and the next attempt continues from what is
 * left.
 *
 * The fields are as of the beginning of the attempt. The verbs of `TurnRecord` return changes for `write`.
 *
 * `Env` are the services that the steps of the turn use; where they are unknown, no step runs.
 */
export class Turn<Env = unknown> extends TurnRecord {
  /** Undefined until `withEnv` has given it. */
  readonly env = undefined as Env;
  readonly entry: EntryId;
  /** The queue that it heads. */
  readonly lane: LaneKey;
  readonly chat: ChatKey;
  /** The chat that owns session, data and costs; differs from `chat` if a group became a supergroup. */
  readonly currentChat: ChatKey;
  /** Where replies go: the chat of the message, with its topic, or the supergroup that it became. */
  readonly destination: Destination;
  /** The Redis keys. `keys.chat(chat)` is the key of `currentChat`, so that a migrated group keeps its state. */
  readonly keys: Keys;
  /** Unique to this attempt, even where Redis has forgotten another one. */
  readonly fencingToken: string;
  /** 1 for the first; restarts at 1 after each recovery step. */
  readonly attempts: number;
  readonly recoveries: number;
  /** Recoveries before the last tool round. The limit on recoveries counts from here. */
  readonly recoveriesBefore: number;
  readonly stage: RecoveryStage;
  /** Tool rounds recorded for this message, in any session. */
  readonly rounds: number;
  readonly message: Decoded<InboundMessage>;
  /** The kind of the message's content; `undefined` where it cannot be read. */
  readonly kind: string | undefined;
  /** Whether the message came from a chat that the bot is not part of, where it is answered. */
  readonly isElsewhere: boolean;
  /** The entry of an earlier try of the message, which failed: then it was put back. */
  readonly replayOf: EntryId | undefined;
  /** Whether nothing waited behind the message when the attempt began. */
  readonly isAloneAtBegin: boolean;
  /** Since when the bot is blocked by the chat or removed from it, in ms since the epoch; 0: it is there. */
  readonly goneMs: number;
  readonly traceparent: string;
  readonly session: SessionId;
  /** The chat's memory, as its session carries it; absent until that is fixed for the session. */
  readonly memory: string | undefined;
  /** The window learnt from a provider's errors in this session, if any: whose it is, and until when it holds. */
  readonly limit: { readonly tokens: number; readonly untilMs: number; readonly of: string } | undefined;
  /** The factor for our estimates of this chat, learnt from real usage; absent before the first answer. */
  readonly calibration: number | undefined;
  /** Messages of this session that a summary stands for since its last answer; the answer says so. */
  readonly unreportedCompactions: number;
  /** Compactions of this session in a row that failed, or after which the rest was still too large. */
  readonly vainCompactions: number;
  /** The finished part of a summary of this session, as JSON. */
  readonly summaryPart: string | undefined;
  /** Messages of this session that the model declined since it last answered one. */
  readonly refusalsInRow: number;
  /** How many model calls timed out in silence since the last answer or recovery. */
  readonly silences: number;
  /**
   * When the attempt before this one began, in ms since the epoch, if it wrote no verdict: its process was killed, or lost
   * Redis.
   */
  readonly cutFromMs: number | undefined;
  /** Whether this message or its conversation was refused because of its content: it may be at fault. */
  readonly isSuspect: boolean;
  /** Set while this session is on trial. */
  readonly trial: Trial | undefined;
  /** Lowered when input and output together did not fit, raised when thinking took all of it. */
  readonly maxOutputTokens: number | undefined;
  readonly conclusion: Conclusion | undefined;
  /** Lines to show the user before the answer, e.g. that a fresh session was started. */
  readonly notices: readonly string[];
  /** Lines that say how much of this message was read: they belong to its answer, and to nothing else. */
  readonly readingNotices: readonly string[];
  /** The texts of the chat's language: chosen with a command, or else the operator's choice, or the sender's app's. */
  readonly texts: Texts;
  /** The operator's settings for this chat. */
  readonly chatSettings: ChatSettings;
  /** The chat's choice by a command, by its field. */
  readonly choice: (name: Choice) => string | undefined;
  /** The tools that the chat may use without asking. */
  readonly toolGrants: readonly ToolGrant[];
  /** When something may be sent to the chat again, by Telegram's own word, in ms since the epoch; 0 is now. */
  readonly quietUntilMs: number;
  /** The messages of the chat whose answers are put back when the chat takes another one, oldest first. */
  readonly refusedAnswers: readonly EntryId[];
  /** How many messages of its chat a full lane refused that no reply has reported yet; 0 in a lane of commands. */
  readonly laneRefusals: number;
  /** The time of Redis, in ms since the epoch: the clock behind entry ids. */
  readonly nowMs: () => number;
  readonly write: FencedWrites['write'];
  readonly assertOwned: FencedWrites['assertOwned'];
  readonly asWrite: FencedWrites['asWrite'];
  readonly afterWrites: FencedWrites['afterWrites'];
  protected readonly begunAtMs = performance.now();

  constructor(begun: BegunFields, source: TurnSource, writes: FencedWrites) {
    const { entryFields, turnFields, sessionFields } = begun;
    super(source.keys.turn(begun.entry), turnFields);
    const chatFields = chatFieldsOf(begun.chatFields);
    const own = chatOf(begun.lane);
    const stored = stageOf(this.text('stage') ?? 'none');
    const trial = this.json<Trial>('trial');
    // The chat has been bound to another session meanwhile: the trial no longer applies.
    const isForeign = trial !== undefined && trial.in !== begun.session;
    this.entry = begun.entry;
    this.lane = begun.lane;
    this.chat = own;
    this.currentChat = begun.currentChat;
    this.destination = destinationOf(begun.currentChat, this.migratedTo);
    this.keys = { ...source.keys, chat: (chat) => source.keys.chat(chat === own ? begun.currentChat : chat) };
    this.fencingToken = this.text('fence') ?? '';
    this.attempts = this.number('attempts') ?? 0;
    this.recoveries = this.number('recoveries') ?? 0;
    this.recoveriesBefore = this.number('recoveriesBefore') ?? 0;
    this.stage = isForeign || !isStage(stored) ? 'none' : stored;
    this.rounds = this.number('rounds') ?? 0;
    const json = this.text('edited') ?? entryFields.get('message');
    this.message = isStage(stored) ? decodeMessage(json) : ofLaterVersion(stored);
    this.replayOf = entryFields.get('replayed') as EntryId | undefined;
    this.isAloneAtBegin = begun.behind === 0;
    this.goneMs = goneMsOf(begun.absence);
    this.traceparent = entryFields.get('traceparent') ?? '';
    this.session = begun.session;
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
    this.chatSettings = settingsOfChat(source.chats, own, begun.currentChat, chatFields.movedFrom);
    this.choice = chatFields.choice;
    this.calibration = chatFields.calibration;
    this.toolGrants = chatFields.toolGrants;
    this.quietUntilMs = chatFields.quietUntilMs;
    this.refusedAnswers = chatFields.refusedAnswers;
    this.laneRefusals = begun.lane === own ? chatFields.laneRefusals : 0;
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

  /** A copy whose steps use other services. */
  withEnv<Other>(env: Other): Turn<Other> {
    return copyOf(this, { env });
  }

  /** A copy with other findings, for the rest of the attempt. */
  with(findings: Partial<Pick<Turn, Replaceable>>): this {
    return copyOf(this, findings);
  }

  /** A copy whose replies go to another group: Telegram said that the group of the message became that one. */
  movedTo(chatId: number): this {
    return copyOf(this, { destination: { chatId } });
  }

  /** The turn as it is after a call went through: the waits for the endpoint are over. */
  withoutOutage(): this {
    const fields = new Map(this.fields);
    for (const name of OUTAGE) fields.delete(name);
    return copyOf(this, { fields, waits: new Waits(this.key, fields) });
  }

  /** How long this attempt has run, by the monotonic clock. */
  elapsedMs(): number {
    return performance.now() - this.begunAtMs;
  }

  /** How long the turn has run, in all its attempts but for their recoveries. */
  totalMs(): number {
    return this.spentMs + this.elapsedMs();
  }

  /**
   * How long the message has waited: its entry id is the time of its acceptance. Never below 0: a clock that was learnt
   * from a slow reply may be behind by half of that reply's time.
   */
  ageMs(): number {
    return Math.max(0, this.nowMs() - msOf(this.entry));
  }

  /** The call of the bot in a chat that it is not part of; `undefined` for a message of a chat of its own. */
  get summons(): InboundMessage['summons'] {
    return this.message.ok ? this.message.value.summons : undefined;
  }

  /** Whether the sender is only admitted as a member of a group, or wrote where the bot is not part of the chat. */
  get isOfGuest(): boolean {
    return this.message.ok && this.message.value.from.isGuest === true;
  }

  /** The message, and those that are answered together with it. */
  get entries(): readonly EntryId[] {
    return [this.entry, ...this.merge.reportsFor];
  }

  /** For whom the calls of the attempt are made. */
  get payer(): Payer {
    const { chat, currentChat, entry } = this;
    const about = { chat, currentChat, entry, traceId: traceIdOf(this.traceparent), own: this.chatSettings };
    if (!this.message.ok) return about;
    const { from, chatType } = this.message.value;
    const inGroup = chatType === 'private' ? {} : { groupName: from.name ?? '' };
    return { ...about, person: from.id, isGuest: this.isOfGuest, ...inGroup };
  }

  /** The session of the chat after this end of its message: a trial moves the chat only with an answer. */
  sessionAfter({ outcome }: Conclusion): SessionId {
    return outcome === 'answered' ? this.session : (this.trial?.of ?? this.session);
  }
}

function copyOf<Copy extends Turn>(turn: Turn, parts: object): Copy {
  return Object.assign(Object.create(Turn.prototype), turn, parts);
}

function isStage(stage: string): stage is RecoveryStage {
  return RECOVERY_STAGES.some((known) => known === stage);
}

/** Stages of version 0.4: a fresh session that quoted nothing, and a message of which only the ends were shown. */
const FORMER_STAGES: Readonly<Record<string, RecoveryStage>> = { bare: 'fresh', scrubbed: 'fresh' };

function stageOf(stored: string): string {
  return FORMER_STAGES[stored] ?? stored;
}

/** A process that goes on with a stage that it does not know would repeat finished steps. */
function ofLaterVersion(stage: string): Turn['message'] {
  return { ok: false, problem: `stage: ${stage} is none of ${RECOVERY_STAGES.join(', ')}`, isNewer: true };
}

function limitOf(session: ReadonlyMap<string, string>): Turn['limit'] {
  const tokens = session.get('limitTokens');
  const untilMs = Number(session.get('limitUntilMs') ?? 0);
  if (tokens === undefined || untilMs <= Date.now()) return undefined;
  return { tokens: Number(tokens), untilMs, of: session.get('limitOf') ?? '' };
}
