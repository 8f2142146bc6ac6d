import type { Conclusion, Expected, RecoveryStage, Trial } from '../../../worker/lane/attempt.ts';
import type { EntryId, Keys } from '../../redis/keys.ts';
import type { Change } from '../change.ts';

/** Time is kept as sums of durations, never as differences of clock times: a clock that is wrong would end a wait at once. */
export interface Waited {
  waitedMs: number;
  tries: number;
}

/** What the model has said so far, as people may have seen it, and how many characters of that the session has already. */
export interface Said {
  text: string;
  recordedChars: number;
}

/** How an attempt ended that did not end its message. */
export interface EndedAttempt {
  atMs: number;
  /** Its number, as the attempt counted. */
  attempt: number;
  /** A short code, such as `overloaded`. */
  reason: string;
  /** How long the message was put off; absent when it went on at once. */
  delayMs?: number;
}

/** A message on its way: what its attempts found out and did. One hash, from its first attempt until it is settled. */
export class Turn {
  readonly #key: string;
  readonly #fields: ReadonlyMap<string, string>;

  constructor(key: string, fields: ReadonlyMap<string, string>) {
    this.#key = key;
    this.#fields = fields;
  }

  /** A step of the message was written in an earlier attempt; see `Attempt.write`. */
  hasDone(step: string): boolean {
    return this.#fields.has(`did:${step}`);
  }

  /** The turn as it is after a call went through: the waits for the endpoint are over. */
  withoutOutage(): Turn {
    const fields = new Map(this.#fields);
    for (const name of OUTAGE) fields.delete(name);
    return new Turn(this.#key, fields);
  }

  /** The command that cancelled it, or `BY_OPERATOR`. */
  get cancelledBy(): string | undefined {
    return this.#fields.get('cancelled');
  }

  /** Holds while nobody has cancelled it. */
  notCancelled(): Expected {
    return [this.#key, 'cancelled', ''];
  }

  /** Its lane was full when it came. */
  get isRefused(): boolean {
    return this.#fields.has('refused');
  }

  /** The message into which it was merged. */
  get mergedInto(): EntryId | undefined {
    return this.#fields.get('mergedInto') as EntryId | undefined;
  }

  mergeInto(entry: EntryId): Change {
    return this.#set('mergedInto', entry);
  }

  /** The message into which it was merged failed. */
  get isFailedMerge(): boolean {
    return this.#fields.has('mergedFailed');
  }

  failMerge(): Change {
    return this.#set('mergedFailed', 1);
  }

  /** How many further pieces it had when it last looked. */
  get piecesSeen(): number | undefined {
    return this.#number('piecesSeen');
  }

  seePieces(count: number): Change {
    return this.#set('piecesSeen', count);
  }

  /** The further pieces that it took. */
  get pieces(): EntryId[] | undefined {
    return this.#json('pieces');
  }

  takePieces(entries: readonly EntryId[]): Change {
    return this.#set('pieces', JSON.stringify(entries));
  }

  /** The message whose reply reports on this one. */
  get reportedBy(): EntryId | undefined {
    return this.#fields.get('toldBy') as EntryId | undefined;
  }

  reportBy(entry: EntryId): Change {
    return this.#set('toldBy', entry);
  }

  /** Its reply could not be delivered, so nobody was told. */
  clearReported(): Change {
    return ['HDEL', this.#key, 'toldBy'];
  }

  /** How many refused messages it saw in its lane when it last looked, and how often it looked. */
  get refusedSeen(): { count: number; looks: number } {
    const [count = -1, looks = 0] = this.#fields.get('refusedSeen')?.split(' ').map(Number) ?? [];
    return { count, looks };
  }

  seeRefused(count: number, looks: number): Change {
    return this.#set('refusedSeen', `${count} ${looks}`);
  }

  /** The messages before it that it is answered together with, after they had called tools. */
  get answersWith(): EntryId[] {
    return (this.#fields.get('setBefore')?.split(' ') ?? []) as EntryId[];
  }

  answerWith(entries: readonly EntryId[]): Change {
    return this.#set('setBefore', entries.join(' '));
  }

  /** The new id of its chat. */
  get migratedTo(): number | undefined {
    return this.#number('migratedTo');
  }

  migrateTo(chatId: number): Change {
    return this.#set('migratedTo', chatId);
  }

  /** What was read once of a file or a recording, under a name of the reader's. */
  content(name: string): string | undefined {
    return this.#fields.get(name);
  }

  keepContent(name: string, text: string): Change {
    return this.#set(name, text);
  }

  forgetContents(names: readonly string[]): Change {
    return ['HDEL', this.#key, ...names];
  }

  /** Lines shown before the answer, or with the notice of another end. */
  notify(notices: readonly string[]): Change {
    return this.#set('notices', JSON.stringify([...new Set(notices)]));
  }

  /** Lines that say how much of the message was read; a later reading replaces an earlier one. */
  notifyReading(notices: readonly string[]): Change {
    return this.#set('readingNotices', JSON.stringify([...new Set(notices)]));
  }

  get said(): Said {
    return { text: this.#fields.get('said') ?? '', recordedChars: this.#number('saidRecorded') ?? 0 };
  }

  say({ text, recordedChars }: Said): Change {
    return this.#set('said', text, 'saidRecorded', recordedChars);
  }

  unsay(): Change {
    return ['HDEL', this.#key, 'said', 'saidRecorded'];
  }

  /** How long the earlier attempts ran, without their recoveries. */
  get spentMs(): number {
    return this.#number('spentMs') ?? 0;
  }

  spend(totalMs: number): Change {
    return this.#set('spentMs', Math.round(totalMs));
  }

  /** How long the recovery that was cut short has run. */
  get recoverySpentMs(): number {
    return this.#number('recoverySpentMs') ?? 0;
  }

  spendOnRecovery(totalMs: number): Change {
    return this.#set('recoverySpentMs', Math.round(totalMs));
  }

  /** How it waits for the endpoint of the model. */
  get outage(): Waited {
    return this.#waited(OUTAGE);
  }

  waitForModel({ waitedMs, tries }: Waited): Change {
    return this.#set(OUTAGE[0], Math.round(waitedMs), OUTAGE[1], tries);
  }

  /** How its finished answer waits for Telegram; `tries` are the sends that ended without Telegram's word. */
  get telegram(): Waited {
    return this.#waited(TELEGRAM);
  }

  waitForTelegram({ waitedMs, tries }: Waited): Change {
    return this.#set(TELEGRAM[0], Math.round(waitedMs), TELEGRAM[1], tries);
  }

  /** How many of its calls fell silent since the last answer or recovery. */
  fallSilent(times: number): Change {
    return this.#set('silences', times);
  }

  /** The refusals that were met once so far, by kind and round of tools. */
  get doubted(): string[] {
    return this.#fields.get('doubted')?.split(',') ?? [];
  }

  doubt(refusal: string): Change {
    return this.#set('doubted', [...this.doubted, refusal].join(','));
  }

  /** The model that its chat chose and its endpoint does not know: the usual one is asked instead. */
  get goneModel(): string | undefined {
    return this.#fields.get('modelGone');
  }

  setModelAside(model: string): Change[] {
    return [this.#set('modelGone', model, 'attempts', 0), ['HDEL', this.#key, 'doubted']];
  }

  /** A refusal named its content, or that of its conversation: it may be at fault. */
  blame(): Change {
    return this.#set('blamed', 1);
  }

  /** It waits for a storm of overflows to pass, or is its probe. */
  get isInStorm(): boolean {
    return this.#fields.has('storm');
  }

  enterStorm(): Change {
    return this.#set('storm', 1);
  }

  /** Its conversation is sent beyond its budget, since no summary could be had. */
  get isUncompacted(): boolean {
    return this.#fields.has('uncompacted');
  }

  leaveUncompacted(): Change {
    return this.#set('uncompacted', 1);
  }

  /** The request that the endpoint itself counted to fit, although we did not. */
  get countedToFit(): string | undefined {
    return this.#fields.get('countedToFit');
  }

  countToFit(request: string): Change {
    return this.#set('countedToFit', request);
  }

  /** The finished part of a summary, as JSON of whoever makes it. */
  get summaryPart(): string | undefined {
    return this.#fields.get('summary');
  }

  keepSummaryPart(part: string): Change {
    return this.#set('summary', part);
  }

  forgetSummaryPart(): Change {
    return ['HDEL', this.#key, 'summary'];
  }

  /** A stage of recovery, one more recovery, and a reset count of attempts: progress was made. */
  enter(stage: RecoveryStage): Change[] {
    return [
      this.#set('stage', stage, 'attempts', 0),
      ['HINCRBY', this.#key, 'recoveries', 1],
      ['HDEL', this.#key, 'silences', ...OUTAGE],
    ];
  }

  /** Calls that it took to get to a stage count as recoveries. */
  countRecoveries(more: number): Change[] {
    return more > 0 ? [['HINCRBY', this.#key, 'recoveries', more]] : [];
  }

  /** A recovery with a bound of its own: it does not use up that of the stages. */
  freeRecovery(): Change {
    return ['HINCRBY', this.#key, 'recoveriesBefore', 1];
  }

  /** The kinds of failure that were answered with their own step. */
  noteTried(kinds: readonly string[]): Change {
    return this.#set('tried', kinds.join(','));
  }

  /** Nothing was tried: no attempt is used. */
  freeAttempt(): Change {
    return ['HINCRBY', this.#key, 'attempts', -1];
  }

  /** The next request is a different one: all attempts are left. */
  renewAttempts(): Change {
    return this.#set('attempts', 0);
  }

  askForOutput(maxOutputTokens: number): Change {
    return this.#set('maxOutputTokens', maxOutputTokens);
  }

  /** A round of tools is stored: progress, which resets the attempts and the bound on recoveries. */
  recordRound(round: number, { recoveries, stage }: { recoveries: number; stage: RecoveryStage }): Change[] {
    return [
      this.#set('rounds', round, 'attempts', 1, 'recoveriesBefore', recoveries, 'stage', stage),
      ['HDEL', this.#key, 'silences', ...OUTAGE],
    ];
  }

  /** A fresh session that has to prove that the previous one was to blame. */
  tryIn(trial: Trial): Change {
    return this.#set('trial', JSON.stringify(trial));
  }

  /** Holds while the trial is the one that the attempt began with. */
  isOnTrial(): Expected {
    return [this.#key, 'trial', this.#fields.get('trial') ?? ''];
  }

  endTrial(): Change {
    return ['HDEL', this.#key, 'trial'];
  }

  /** The message stands in the log of a session, at this index. */
  recordIn(step: string, index: number): Change {
    return this.#set(`did:${step}`, index);
  }

  /** How it ends. Before any of it is delivered. */
  conclude(conclusion: Conclusion): Change {
    return this.#set('conclusion', JSON.stringify(conclusion), 'attempts', 1);
  }

  /** What is delivered changes, and not how often it was tried. */
  reviseConclusion(conclusion: Conclusion): Change {
    return this.#set('conclusion', JSON.stringify(conclusion));
  }

  /** The user has the answer: what follows is nobody's wait. */
  markReplied(): Change {
    return this.#set('replied', 1);
  }

  /** How its newest attempts ended, oldest first; none when that cannot be read. */
  get ends(): EndedAttempt[] {
    return endsIn(this.#fields.get('ended'));
  }

  /** An attempt ended with a verdict, so its process did not crash. */
  endAttempt(end: EndedAttempt): Change[] {
    const kept = [...this.ends, end].slice(-ENDS_KEPT);
    return [['HDEL', this.#key, 'running', 'deaths'], this.#set('ended', JSON.stringify(kept))];
  }

  #set(...fields: (string | number)[]): Change {
    return ['HSET', this.#key, ...fields];
  }

  #number(name: string): number | undefined {
    const text = this.#fields.get(name);
    return text === undefined ? undefined : Number(text);
  }

  #json<T>(name: string): T | undefined {
    const text = this.#fields.get(name);
    return text === undefined ? undefined : (JSON.parse(text) as T);
  }

  #waited([waited, tries]: readonly [string, string]): Waited {
    return { waitedMs: this.#number(waited) ?? 0, tries: this.#number(tries) ?? 0 };
  }
}

/** The turn of a message; without its fields as of the start of an attempt it can only be changed. */
export function turnOf(
  keys: Pick<Keys, 'turn'>,
  entry: EntryId,
  fields: ReadonlyMap<string, string> = new Map(),
): Turn {
  return new Turn(keys.turn(entry), fields);
}

const OUTAGE = ['outageWaitedMs', 'outageTries'] as const;
const TELEGRAM = ['telegramWaitedMs', 'telegramTries'] as const;
/** A turn may wait for hours, and each of its attempts adds one. */
const ENDS_KEPT = 20;

/** The ends that a turn's record holds, oldest first; none when it cannot be read. */
export function endsIn(json: string | undefined): EndedAttempt[] {
  try {
    const ends: unknown = JSON.parse(json ?? '[]');
    return Array.isArray(ends) ? ends : [];
  } catch {
    return [];
  }
}

/** A message that is no candidate for having crashed a process any more. */
export function clearPoisonCandidate(keys: Pick<Keys, 'poisonCandidates'>, entry: EntryId): Change {
  return ['ZREM', keys.poisonCandidates, entry];
}
