import { type Decoded, decodeMessage, type InboundMessage } from '../../shared/flow/message.ts';
import type { Outcome } from '../../shared/flow/outcome.ts';
import type { ChatKey, EntryId, Keys, SessionId } from '../../shared/redis/keys.ts';
import type { RunScript } from '../../shared/redis/script.ts';
import { msOf } from '../../shared/redis/stream-id.ts';

/** How far the recovery of this message has come. Moves forward only, and is stored with its effect. */
export type RecoveryStage = 'none' | 'compacted' | 'fresh' | 'bare' | 'scrubbed';

/** What a turn decided to tell the user, stored before the first part is sent. */
export interface Conclusion {
  outcome: Outcome;
  /** A short code for the ledger; absent for a plain answer. */
  reason?: string;
  /** The message into which this one went, of which it is a piece. */
  into?: EntryId;
  /** The entries behind this one that end with it, in order: they are told of in its parts. */
  also?: readonly EntryId[];
  /** Texts of 1 to 4096 UTF-16 units, in order. */
  parts: string[];
}

/** A fresh session that has to show that the one before it was to blame. */
export interface Trial {
  /** The session before. */
  of: SessionId;
  /** The fresh one. */
  in: SessionId;
  /** Its entries. */
  entries: number;
  /** What the user is told if the fresh one is answered in. */
  notice: string;
  /** The reason of the failure that led here. */
  why: string;
}

/** The field of a turn that holds the command which cancelled its message. */
export const CANCELLED = 'cancelled';
/** The field of a turn that says why its message was refused when it was admitted. */
export const REFUSED = 'refused';
/** The field of a turn that counts how often its time ran out. */
export const TIMEOUTS = 'timeouts';
/** The field of a turn that notes a refusal for what the message or its conversation says. */
export const BLAMED = 'blamed';
/** The field of a turn whose user has the answer while its session is compacted. */
export const REPLIED = 'replied';

/**
 * The fields of the turn that hold how long it has waited for the endpoint, and how often it was tried. The time is added
 * up from waits and attempts, not read off clocks: one that is wrong would end our patience at once.
 */
export const OUTAGE_WAITED = 'outageWaitedMs';
export const OUTAGE_TRIES = 'outageTries';
export const OUTAGE_FIELDS = [OUTAGE_WAITED, OUTAGE_TRIES] as const;

/** How a part of a reply stands: `sending` means that an attempt was about to send it, `resent` that a second was. */
export type PartMark = 'sending' | 'resent' | 'sent';

/** A Redis command, as words. */
export type Command = readonly [name: string, ...args: (string | number)[]];

/** What a fenced write came to; see `write.lua`. */
export type Written = 'written' | 'repeated' | 'fenced' | 'moved';

/** Thrown when another attempt took the turn over, or must: this one has to stop and leave no trace. */
export class FencedError extends Error {
  override readonly name = 'FencedError';
  constructor() {
    super('another worker took this message over, or Redis has lost what this one wrote');
  }
}

/**
 * One attempt at a message, and its proof of ownership. Everything that it writes goes through `write`, which checks
 * the fence: an attempt that was frozen and comes back can change nothing. Its writes are numbered, so one that outlives
 * a Redis which has lost some of them can change nothing either; the next attempt goes on from what is left.
 */
export interface Attempt {
  readonly entry: EntryId;
  readonly chat: ChatKey;
  /** The chat whose session it is: another one than `chat` only where a group became a supergroup. */
  readonly home: ChatKey;
  /** The keys of the shard; that of the own chat is its home's. */
  readonly keys: Keys;
  /** Unlike that of any other attempt, also where Redis has forgotten one. */
  readonly fence: string;
  /** 1 for the first; starts again at 1 after each recovery step. */
  readonly attempts: number;
  readonly recoveries: number;
  /** Recoveries before the last tool round: a call that went through in between begins the bound anew. */
  readonly recoveriesBefore: number;
  readonly stage: RecoveryStage;
  /** Kinds of failure that were already answered with a step of their own. */
  readonly tried: readonly string[];
  /** Tool rounds that were recorded for this message, in whatever session. */
  readonly rounds: number;
  readonly message: Decoded<InboundMessage>;
  readonly traceparent: string;
  readonly session: SessionId;
  /** The window that a provider's error taught for this session, when one did; a guess holds until a time, else 0. */
  readonly limit: { readonly tokens: number; readonly untilMs: number } | undefined;
  /** What our estimate of this chat is multiplied with, learnt from real usage; absent before the first answer. */
  readonly calibration: number | undefined;
  /** Compactions of this session since a request was last small enough without one. */
  readonly compactionsInRow: number;
  /** Compactions after a reply that came to nothing, since one last did. */
  readonly vainCompactions: number;
  /** Messages of this session that the model declined, since one was last answered. */
  readonly refusalsInRow: number;
  /** How often the turn's own time ran out since the last progress. */
  readonly timeouts: number;
  /** Whether this message, or its conversation, was refused for what it says: it may be guilty. */
  readonly isBlamed: boolean;
  /** Set while this session is on trial. */
  readonly trial: Trial | undefined;
  /** Lowered when input and output together did not fit, raised when thinking took all of it. */
  readonly maxOutputTokens: number | undefined;
  readonly conclusion: Conclusion | undefined;
  /** Lines that the user is to be told before the answer, e.g. that a fresh session was started. */
  readonly notices: readonly string[];
  /** How a place of the reply stands: the placeholder, its text, or a further part by its index. */
  part(at: 'placeholder' | 'text' | number): PartMark | undefined;
  /** How long this attempt has run, by a clock that nobody sets. */
  elapsedMs(): number;
  /** The time of Redis, in ms since the epoch: that by which entries are named. */
  nowMs(): number;
  /** A field of the turn as it was when this attempt began: how a call of a tool stands, or what it returned. */
  field(name: string): string | undefined;
  /**
   * Applies commands atomically, once per step. An empty step may repeat.
   * Contract: throws `FencedError` when the turn was taken over; `moved` only when `expect` was given and does not hold.
   */
  write(
    step: string,
    commands: readonly Command[],
    expect?: readonly [key: string, field: string, value: string],
  ): Promise<Exclude<Written, 'fenced'>>;
  /** Checks ownership just before an effect outside of Redis. Contract: throws `FencedError`. */
  assertOwned(): Promise<void>;
  /** Makes a write with a script of its own, behind those before it: `send` has to make it under the number that it is told. */
  asWrite<T>(send: (number: number) => Promise<T>): Promise<T>;
  /** Asks with a script of its own, behind all writes so far: `send` is told the number of the last one. */
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
  const fields = fromFlat(reply.fields);
  const turn = fromFlat(reply.turn);
  const session = fromFlat(reply.sessionFields);
  const fence = turn.get('fence') ?? '';
  const begunAtMs = performance.now();
  const trial = parsed<Trial>(turn.get('trial'));
  // Somebody has bound the chat to another session meanwhile: the trial is nobody's any more.
  const isForeign = trial !== undefined && trial.in !== reply.session;
  const turnKey = reply.keys.turn(reply.entry);
  let writes = 0;
  let before: Promise<unknown> = Promise.resolve();
  // One after the other: on a cluster a write that is sent again could be overtaken, and would then seem to be lost.
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
      const args = [fence, number, step, ...expect, ...words];
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
    fence,
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

function fromFlat(flat: string[]): Map<string, string> {
  const map = new Map<string, string>();
  for (let i = 0; i + 1 < flat.length; i += 2) map.set(flat[i] ?? '', flat[i + 1] ?? '');
  return map;
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

/** How long an attempt's message has waited: its entry's id is the time at which it was accepted. */
export function ageMs({ entry, nowMs }: Attempt): number {
  return nowMs() - msOf(entry);
}
