import { type Decoded, decodeMessage, type InboundMessage } from '../../shared/flow/message.ts';
import type { Outcome } from '../../shared/flow/outcome.ts';
import { fieldsOf } from '../../shared/redis/fields.ts';
import type { ChatKey, EntryId, Keys, SessionId } from '../../shared/redis/keys.ts';
import type { RunScript } from '../../shared/redis/script.ts';
import { msOf } from '../../shared/redis/stream-id.ts';

/** How far the recovery of this message has gone. Moves forward only, and is stored with its effect. */
export type RecoveryStage = 'none' | 'compacted' | 'fresh' | 'bare' | 'scrubbed';

/** What the user will get, stored before the first part is sent. */
export interface Conclusion {
  outcome: Outcome;
  /** A short code for the ledger; absent for a plain answer. */
  reason?: string;
  /** The message into which this one was merged, as a fragment of it. */
  into?: EntryId;
  /** The entries behind this one that end with it, in order: this message's parts report on them. */
  also?: readonly EntryId[];
  /** Texts of 1 to 4096 UTF-16 units, in order. */
  parts: string[];
}

/** A fresh session that has to prove that the previous one was to blame. */
export interface Trial {
  /** The previous session. */
  of: SessionId;
  /** The fresh one. */
  in: SessionId;
  /** Its entries. */
  entries: number;
  /** The notice to the user if the fresh session yields an answer. */
  notice: string;
  /** The reason of the failure that led here. */
  why: string;
}

/** The turn's field for the command that cancelled its message. */
export const CANCELLED = 'cancelled';
/** The turn's field for the reason why its message was refused at admission. */
export const REFUSED = 'refused';
/** The turn's field that counts its timeouts. */
export const TIMEOUTS = 'timeouts';
/** The turn's field that records a refusal because of the content of the message or its conversation. */
export const BLAMED = 'blamed';
/** The turn's field that is set while its session is compacted after the user got the answer. */
export const REPLIED = 'replied';

/**
 * The turn's fields for how long it has waited for the endpoint, and how often it tried. The time is the sum of waits
 * and attempts, not a difference of clock times: a wrong clock would end the wait at once.
 */
export const OUTAGE_WAITED = 'outageWaitedMs';
export const OUTAGE_TRIES = 'outageTries';
export const OUTAGE_FIELDS = [OUTAGE_WAITED, OUTAGE_TRIES] as const;

/**
 * State of a part of a reply: `sending` means that an attempt was about to send it, `resent` that a second attempt was.
 */
export type PartMark = 'sending' | 'resent' | 'sent';

/** A Redis command, as words. */
export type Command = readonly [name: string, ...args: (string | number)[]];

/** The result of a fenced write; see `write.lua`. */
export type Written = 'written' | 'repeated' | 'fenced' | 'moved';

/** Thrown when another attempt took the turn over, or must: this attempt has to stop without further effects. */
export class FencedError extends Error {
  override readonly name = 'FencedError';
  constructor() {
    super('another worker took this message over, or Redis has lost what this one wrote');
  }
}

/**
 * One attempt at a message, and its proof of ownership. All its writes go through `write`, which checks the fencing
 * token: an attempt that was frozen and resumes can change nothing. Its writes are numbered, so an attempt that
 * outlives the loss of some of them in Redis can change nothing either; the next attempt continues from what is left.
 */
export interface Attempt {
  readonly entry: EntryId;
  readonly chat: ChatKey;
  /** The chat that owns the session: differs from `chat` only where a group became a supergroup. */
  readonly home: ChatKey;
  /** The keys of the shard; the key of `chat` is that of `home`. */
  readonly keys: Keys;
  /** Unique to this attempt, even where Redis has forgotten another one. */
  readonly fencingToken: string;
  /** 1 for the first; restarts at 1 after each recovery step. */
  readonly attempts: number;
  readonly recoveries: number;
  /** Recoveries before the last tool round: a call that succeeded in between restarts the bound. */
  readonly recoveriesBefore: number;
  readonly stage: RecoveryStage;
  /** Kinds of failure that a specific recovery step has already handled. */
  readonly tried: readonly string[];
  /** Tool rounds recorded for this message, in any session. */
  readonly rounds: number;
  readonly message: Decoded<InboundMessage>;
  readonly traceparent: string;
  readonly session: SessionId;
  /**
   * The window learnt from a provider's error in this session, if any; a guess holds until `untilMs`, which is else 0.
   */
  readonly limit: { readonly tokens: number; readonly untilMs: number } | undefined;
  /** The factor for our estimates of this chat, learnt from real usage; absent before the first answer. */
  readonly calibration: number | undefined;
  /** Compactions of this session since a request last fitted without one. */
  readonly compactionsInRow: number;
  /** Fruitless compactions after a reply, since the last compaction that succeeded. */
  readonly vainCompactions: number;
  /** Messages of this session that the model declined since it last answered one. */
  readonly refusalsInRow: number;
  /** How often the turn timed out since the last progress. */
  readonly timeouts: number;
  /** Whether this message or its conversation was refused because of its content: it may be at fault. */
  readonly isBlamed: boolean;
  /** Set while this session is on trial. */
  readonly trial: Trial | undefined;
  /** Lowered when input and output together did not fit, raised when thinking took all of it. */
  readonly maxOutputTokens: number | undefined;
  readonly conclusion: Conclusion | undefined;
  /** Lines to show the user before the answer, e.g. that a fresh session was started. */
  readonly notices: readonly string[];
  /** The state of one place of the reply: the placeholder, its text, or a further part by its index. */
  part(at: 'placeholder' | 'text' | number): PartMark | undefined;
  /** How long this attempt has run, by the monotonic clock. */
  elapsedMs(): number;
  /** The time of Redis, in ms since the epoch: the clock behind entry ids. */
  nowMs(): number;
  /** A field of the turn as of the start of this attempt: the state of a tool call, or its result. */
  field(name: string): string | undefined;
  /**
   * Applies commands atomically, once per step. An empty step may repeat.
   * Contract: throws `FencedError` when the turn was taken over; `moved` only when `expect` was given and is not met.
   */
  write(
    step: string,
    commands: readonly Command[],
    expect?: readonly [key: string, field: string, value: string],
  ): Promise<Exclude<Written, 'fenced'>>;
  /** Checks ownership just before an effect outside Redis. Contract: throws `FencedError`. */
  assertOwned(): Promise<void>;
  /** Makes a write with its own script, after all earlier writes: `send` must make it under the number that it gets. */
  asWrite<T>(send: (number: number) => Promise<T>): Promise<T>;
  /** Runs a query with its own script, after all earlier writes: `send` gets the number of the last one. */
  afterWrites<T>(send: (last: number) => Promise<T>): Promise<T>;
}

/** Builds an attempt from what `begin.lua` returned. Flat lists are field, value, field, value… */
export function readAttempt(reply: {
  keys: Keys;
  write: RunScript<string>;
  nowMs: () => number;
  entry: EntryId;
  chat: ChatKey;
  home: ChatKey;
  fields: string[];
  turn: string[];
  session: SessionId;
  sessionFields: string[];
  calibration: string;
}): Attempt {
  const fields = fieldsOf(reply.fields);
  const turn = fieldsOf(reply.turn);
  const session = fieldsOf(reply.sessionFields);
  const fencingToken = turn.get('fence') ?? '';
  const begunAtMs = performance.now();
  const trial = parsed<Trial>(turn.get('trial'));
  // The chat has been bound to another session meanwhile: the trial no longer applies.
  const isForeign = trial !== undefined && trial.in !== reply.session;
  const turnKey = reply.keys.turn(reply.entry);
  let writes = 0;
  let before: Promise<unknown> = Promise.resolve();
  // One after the other: on a cluster, another write could overtake a re-sent one, which would then seem to be lost.
  const afterWrites: Attempt['afterWrites'] = (send) => {
    const sent = before.then(() => send(writes));
    before = sent.catch(() => {});
    return sent;
  };
  const asWrite: Attempt['asWrite'] = (send) =>
    afterWrites((last) => {
      writes = last + 1;
      return send(writes);
    });
  const write: Attempt['write'] = (step, commands, expect = ['', '', '']) => {
    const words = commands.flatMap((command) => [command.length, ...command]);
    const onlyChecks = step === '' && commands.length === 0;
    return (onlyChecks ? afterWrites : asWrite)(async (number) => {
      const args = [fencingToken, number, step, ...expect, ...words];
      const written = (await reply.write([turnKey, reply.keys.absent], args)) as Written;
      if (written === 'fenced') throw new FencedError();
      return written;
    });
  };
  return {
    entry: reply.entry,
    chat: reply.chat,
    home: reply.home,
    keys: { ...reply.keys, chat: (chat) => reply.keys.chat(chat === reply.chat ? reply.home : chat) },
    fencingToken,
    attempts: Number(turn.get('attempts')),
    recoveries: Number(turn.get('recoveries') ?? 0),
    recoveriesBefore: Number(turn.get('recoveriesBefore') ?? 0),
    stage: isForeign ? 'none' : ((turn.get('stage') ?? 'none') as RecoveryStage),
    tried: turn.get('tried')?.split(',') ?? [],
    rounds: Number(turn.get('rounds') ?? 0),
    message: decodeMessage(fields.get('message')),
    traceparent: fields.get('traceparent') ?? '',
    session: reply.session,
    limit: limitOf(session),
    calibration: reply.calibration === '' ? undefined : Number(reply.calibration),
    compactionsInRow: Number(session.get('compactionsInRow') ?? 0),
    vainCompactions: Number(session.get('vainCompactions') ?? 0),
    refusalsInRow: Number(session.get('refusalsInRow') ?? 0),
    timeouts: Number(turn.get(TIMEOUTS) ?? 0),
    isBlamed: turn.has(BLAMED),
    trial: isForeign ? undefined : trial,
    maxOutputTokens: optionalNumber(turn.get('maxOutputTokens')),
    conclusion: parsed<Conclusion>(turn.get('conclusion')),
    notices: parsed<string[]>(turn.get('notices')) ?? [],
    part: (at) => turn.get(`part:${at}`) as PartMark | undefined,
    elapsedMs: () => performance.now() - begunAtMs,
    nowMs: reply.nowMs,
    field: (name) => turn.get(name),
    write,
    asWrite,
    afterWrites,
    assertOwned: async () => {
      await write('', []);
    },
  };
}

function limitOf(session: ReadonlyMap<string, string>): Attempt['limit'] {
  const tokens = optionalNumber(session.get('limitTokens'));
  const untilMs = Number(session.get('limitUntilMs') ?? 0);
  if (tokens === undefined || (untilMs > 0 && untilMs < Date.now())) return undefined;
  return { tokens, untilMs };
}

function optionalNumber(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

function parsed<T>(json: string | undefined): T | undefined {
  return json === undefined ? undefined : (JSON.parse(json) as T);
}

/** How long an attempt's message has waited: its entry id is the time of its acceptance. */
export function ageMs({ entry, nowMs }: Attempt): number {
  return nowMs() - msOf(entry);
}
