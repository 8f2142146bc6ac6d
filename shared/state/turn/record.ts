import type { Outcome } from '../../flow/message.ts';
import type { FilePart, Part } from '../../flow/reply.ts';
import type { EntryId, Keys, SessionId } from '../../redis/keys.ts';
import type { Button } from '../../telegram/messages.ts';
import type { Change, Expected } from '../change.ts';
import { type EndedAttempt, endsIn, Fields, MergeState, OUTAGE, Reply, Waits, withEnd } from './aspects.ts';
import { Parking } from './parking.ts';

/** The progress of a message's recovery. It only moves forward, and the write that stores it also stores its effect. */
export type RecoveryStage = (typeof RECOVERY_STAGES)[number];
export const RECOVERY_STAGES = ['none', 'compacted', 'fresh'] as const;

/** The end of a message, with its reply. It is stored before the first part is sent. */
export interface Conclusion {
  outcome: Outcome;
  /** A short code for the ledger; absent for a plain answer. */
  reason?: string;
  /** The message that this one was merged into, or whose reply also answers this one. */
  into?: EntryId;
  /** The parts of the reply, in order, as plain texts. */
  parts: readonly string[];
  /** The format of each part; `null` for plain text. Absent if all parts are plain, and before version 0.3. */
  layout?: readonly (Part | FilePart | null)[];
  /** Rows of buttons under the last text part. */
  buttons?: readonly (readonly Button[])[];
  /** The buttons stay under the message on which a person pressed one. */
  keepsButtons?: true;
}

/** A retry of a message in a fresh session. The chat moves to that session only if the model answers there. */
export interface Trial {
  /** The chat's session until then. */
  of: SessionId;
  /** The fresh session. */
  in: SessionId;
  /** The number of messages and answers in the old session. */
  entries: number;
  /** The notice to the user if the model answers in the fresh session. */
  notice: string;
  /** The failure that led to the trial. */
  why: string;
}

/** Stored instead of a command if an operator cancelled a message. Its user then gets a notice of their own. */
export const BY_OPERATOR = 'operator';

/** An answer that is still being written. A draft may have shown it to people. */
interface StoredPartialAnswer {
  text: string;
  /** The number of its characters that the session's log has already. */
  recordedChars: number;
}

/** The state of a message from its first attempt until it is settled, in one hash. */
export class TurnRecord extends Fields {
  /** The links to other messages of the lane. */
  readonly merge: MergeState;
  /** The waits for the model and for Telegram. */
  readonly waits: Waits;
  /** The question for whose decision the turn waits. */
  readonly parking: Parking;
  /** The delivery of the reply. */
  readonly reply: Reply;

  constructor(key: string, fields: ReadonlyMap<string, string>) {
    super(key, fields);
    this.merge = new MergeState(key, fields);
    this.waits = new Waits(key, fields);
    this.parking = new Parking(key, fields);
    this.reply = new Reply(key, fields);
  }

  /** Whether an attempt before this one wrote the step; see `Turn.write`. */
  hasDone(step: string): boolean {
    return this.fields.has(`did:${step}`);
  }

  /** The fencing token of the previous attempt. */
  get previousFence(): string | undefined {
    return this.text('fencesBefore')?.split(' ')[0];
  }

  /** The command that cancelled the message, or `BY_OPERATOR`. */
  get cancelledBy(): string | undefined {
    return this.text('cancelled');
  }

  /** Condition of a write: nobody has cancelled the message. */
  expectNotCancelled(): Expected {
    return [this.key, 'cancelled', ''];
  }

  /** Whether a full lane refused the message. Only a summons has a turn then; other messages are settled at admission. */
  get isRefused(): boolean {
    return this.fields.has('refused');
  }

  /** The new id of the chat if it is a group that became a supergroup. */
  get migratedTo(): number | undefined {
    return this.number('migratedTo');
  }

  migrateTo(chatId: number): Change {
    return this.set('migratedTo', chatId);
  }

  /** The stored text of a file or a recording. The reader of such files chooses `name`. */
  content(name: string): string | undefined {
    return this.text(name);
  }

  keepContent(name: string, text: string): Change {
    return this.set(name, text);
  }

  forgetContents(names: readonly string[]): Change {
    return this.unset(...names);
  }

  /** Stores lines for the user, above the answer or with the notice of another end. */
  notify(notices: readonly string[]): Change {
    return this.set('notices', JSON.stringify([...new Set(notices)]));
  }

  /** Stores lines about unread parts of the message. Replaces those of an earlier attempt. */
  notifyReading(notices: readonly string[]): Change {
    return this.set('readingNotices', JSON.stringify([...new Set(notices)]));
  }

  get partialAnswer(): StoredPartialAnswer {
    return { text: this.text('said') ?? '', recordedChars: this.number('saidRecorded') ?? 0 };
  }

  storePartialAnswer({ text, recordedChars }: StoredPartialAnswer): Change {
    return this.set('said', text, 'saidRecorded', recordedChars);
  }

  clearPartialAnswer(): Change {
    return this.unset('said', 'saidRecorded');
  }

  /** The time that earlier attempts ran, without their recoveries. */
  get spentMs(): number {
    return this.number('spentMs') ?? 0;
  }

  spend(totalMs: number): Change {
    return this.set('spentMs', Math.round(totalMs));
  }

  /** The time that an interrupted recovery ran. */
  get recoverySpentMs(): number {
    return this.number('recoverySpentMs') ?? 0;
  }

  spendOnRecovery(totalMs: number): Change {
    return this.set('recoverySpentMs', Math.round(totalMs));
  }

  /** Stores the number of model calls that timed out in silence since the last answer or recovery. */
  setSilences(count: number): Change {
    return this.set('silences', count);
  }

  /** The model that the chat chose and the endpoint does not offer. The turn uses the default model instead. */
  get goneModel(): string | undefined {
    return this.text('modelGone');
  }

  dropChosenModel(model: string): Change[] {
    return [this.set('modelGone', model, 'attempts', 0), this.unset('tried', 'blamed')];
  }

  /** Marks the message as suspect: the model refused its content, or that of its conversation. */
  markSuspect(): Change {
    return this.set('blamed', 1);
  }

  /** Removes the mark of `suspect`: the refusal had another cause. */
  clearSuspicion(): Change {
    return this.unset('blamed');
  }

  /** Enters a stage of recovery: counts the recovery and resets the attempts. */
  enter(stage: RecoveryStage): Change[] {
    return [this.set('stage', stage, 'attempts', 0), this.add('recoveries', 1), this.unset('silences', ...OUTAGE)];
  }

  /** The recovery steps already taken of those that are limited in number, oldest first; see `triedBy`. */
  get tried(): readonly string[] {
    return this.text('tried')?.split(',') ?? [];
  }

  noteTried(steps: readonly string[]): Change {
    return this.set('tried', [...this.tried, ...steps].join(','));
  }

  /** Takes this attempt off the count, because it tried nothing. */
  refundAttempt(): Change {
    return this.add('attempts', -1);
  }

  /** Resets the attempts, because the next request is a different one. */
  renewAttempts(): Change {
    return this.set('attempts', 0);
  }

  askForOutput(maxOutputTokens: number): Change {
    return this.set('maxOutputTokens', maxOutputTokens);
  }

  /** Stores a round of tools. Resets the attempts and the limit on recoveries, because the turn makes progress. */
  recordRound(round: number, { recoveries, stage }: { recoveries: number; stage: RecoveryStage }): Change[] {
    return [
      this.set('rounds', round, 'attempts', 1, 'recoveriesBefore', recoveries, 'stage', stage),
      this.unset('silences', ...OUTAGE),
    ];
  }

  /** Starts a trial: `begin.lua` opens the fresh session while the chat stays in `trial.of`. */
  tryIn(trial: Trial): Change {
    return this.set('trial', JSON.stringify(trial), 'trialOf', trial.of, 'trialIn', trial.in);
  }

  endTrial(): Change {
    return this.unset('trial', 'trialOf', 'trialIn');
  }

  /** Marks the message as recorded in a session's log, at this index. */
  recordIn(session: SessionId, index: number): Change {
    return this.set(`did:${recordStep(session)}`, index);
  }

  /** Whether the message is recorded in the session's log. */
  isRecordedIn(session: SessionId): boolean {
    return this.hasDone(recordStep(session));
  }

  /** Stores the conclusion and sets `attempts` to 1. Call it before the first send. */
  conclude(conclusion: Conclusion): Change {
    return this.set('conclusion', JSON.stringify(conclusion), 'attempts', 1);
  }

  /** Replaces the conclusion and, unlike `conclude`, keeps `attempts`. */
  reviseConclusion(conclusion: Conclusion): Change {
    return this.set('conclusion', JSON.stringify(conclusion));
  }

  /** Marks that the user has the answer. From then on the message cannot be overdue. */
  markReplied(): Change {
    return this.set('replied', 1);
  }

  /** The ends of the newest attempts, oldest first; none if they are unreadable. */
  get ends(): EndedAttempt[] {
    return endsIn(this.text('ended'));
  }

  /** Stores the end of an attempt with a verdict, which proves that its process did not crash. */
  endAttempt(end: EndedAttempt): Change[] {
    const ends = JSON.stringify(withEnd(this.ends, end));
    return [this.unset('running', 'cutFrom', 'crashesInRow'), this.set('ended', ends)];
  }
}

/** The turn of a message from outside of its attempts. Without `fields` it can only make changes. */
export function turnOf(
  keys: Pick<Keys, 'turn'>,
  entry: EntryId,
  fields: ReadonlyMap<string, string> = new Map(),
): TurnRecord {
  return new TurnRecord(keys.turn(entry), fields);
}

/** The name of the step that records a message in a session's log. */
export function recordStep(session: SessionId): string {
  return `user:${session}`;
}

/** Removes a message from the poison candidates. */
export function clearPoisonCandidate(keys: Pick<Keys, 'poisonCandidates'>, entry: EntryId): Change {
  return ['ZREM', keys.poisonCandidates, entry];
}
