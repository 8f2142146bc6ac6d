import type { Outcome } from '../../flow/message.ts';
import type { FilePart, Part } from '../../flow/reply.ts';
import type { EntryId, Keys, SessionId } from '../../redis/keys.ts';
import type { Button } from '../../telegram/messages.ts';
import type { Change, Expected } from '../change.ts';
import { type EndedAttempt, endsIn, Fields, MergeState, OUTAGE, Reply, Waits } from './aspects.ts';
import { Parking } from './parking.ts';

/** How far the recovery of a message has gone. The write that stores a stage also stores the effect of that stage. */
export type RecoveryStage = (typeof RECOVERY_STAGES)[number];
export const RECOVERY_STAGES = ['none', 'compacted', 'fresh'] as const;

/** How a message will end, with its reply. The turn stores the conclusion before the first part of the reply is sent. */
export interface Conclusion {
  outcome: Outcome;
  /** A short code for the ledger, if the outcome alone does not say enough; absent e.g. for a plain answer or a merge. */
  reason?: string;
  /** The message that this one was merged into, or whose reply also answers this one. */
  into?: EntryId;
  /** The parts of the reply, in order, as plain texts. */
  parts: readonly string[];
  /** The format of each part; `null` for plain text. Absent if all parts are plain, and in records up to version 0.2. */
  layout?: readonly (Part | FilePart | null)[];
  /** Rows of buttons under the last text part. */
  buttons?: readonly (readonly Button[])[];
  /** Set if the message whose button a person pressed keeps its buttons. */
  keepsButtons?: true;
}

/** A retry of a message in a fresh session. The chat moves to that session only if the model answers there. */
export interface Trial {
  /** The chat's session until the model answers in the fresh one. */
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

/** Stored in place of the cancelling command's name if an operator cancelled the message. The message's user gets a notice. */
export const BY_OPERATOR = 'operator';

/** The part of an answer that the model has written so far. A draft may have shown this text to people. */
interface StoredPartialAnswer {
  text: string;
  /** How many of the text's characters the session's log has already. */
  recordedChars: number;
}

/** The maximum number of ended attempts that a turn stores. A message that waits for hours may have many more attempts. */
const ENDS_MAX = 20;

/** The stored state of a message's handling, in one Redis hash. */
export class TurnRecord extends Fields {
  readonly merge = new MergeState(this.key, this.fields);
  readonly waits = new Waits(this.key, this.fields);
  readonly parking = new Parking(this.key, this.fields);
  readonly reply = new Reply(this.key, this.fields);

  /** Whether the step of `Turn.write` was already written when these fields were read. */
  hasDone(step: string): boolean {
    return this.fields.has(`did:${step}`);
  }

  /** The fencing token of the previous attempt, if any. */
  get previousFence(): string | undefined {
    return this.text('fencesBefore')?.split(' ')[0];
  }

  /** The name of the command that cancelled the message, or `BY_OPERATOR`; `undefined` if nobody cancelled the message. */
  get cancelledBy(): string | undefined {
    return this.text('cancelled');
  }

  /** Condition of a write: nobody has cancelled the message. */
  expectNotCancelled(): Expected {
    return [this.key, 'cancelled', ''];
  }

  /** Whether a full lane refused the message. Only a refused summons has a turn: admission settles other refused messages. */
  get isRefused(): boolean {
    return this.fields.has('refused');
  }

  /** The new id of the chat if the chat is a group that became a supergroup. */
  get migratedTo(): number | undefined {
    return this.number('migratedTo');
  }

  migrateTo(chatId: number): Change {
    return this.set('migratedTo', chatId);
  }

  /** A text stored under a `name` that the caller chooses, e.g. the text of a file or a recording. */
  content(name: string): string | undefined {
    return this.text(name);
  }

  keepContent(name: string, text: string): Change {
    return this.set(name, text);
  }

  forgetContents(names: readonly string[]): Change {
    return this.unset(...names);
  }

  /**
   * Stores notices for the user. The reply shows them above the answer or, if the message ends without an answer, below the
   * text that says so. Replaces earlier notices.
   */
  notify(notices: readonly string[]): Change {
    return this.set('notices', JSON.stringify([...new Set(notices)]));
  }

  /** Stores lines about unread parts of the message. Replaces the lines of an earlier attempt. */
  notifyReading(notices: readonly string[]): Change {
    return this.set('readingNotices', JSON.stringify([...new Set(notices)]));
  }

  /** The earlier message that this message, a `/retry`, asks again. */
  get retryOf(): EntryId | undefined {
    return this.text('retryOf') as EntryId | undefined;
  }

  setRetryOf(entry: EntryId): Change {
    return this.set('retryOf', entry);
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

  /** How long earlier attempts ran, as far as they stored their time. */
  get spentMs(): number {
    return this.number('spentMs') ?? 0;
  }

  spend(totalMs: number): Change {
    return this.set('spentMs', Math.round(totalMs));
  }

  /** How long recoveries of this message have run so far. */
  get recoverySpentMs(): number {
    return this.number('recoverySpentMs') ?? 0;
  }

  spendOnRecovery(totalMs: number): Change {
    return this.set('recoverySpentMs', Math.round(totalMs));
  }

  /** Stores how often the model has fallen silent since the last recovery or round of tools. */
  setSilences(count: number): Change {
    return this.set('silences', count);
  }

  /** The chat's chosen model, if the endpoint does not offer that model. The turn then uses the default model. */
  get goneModel(): string | undefined {
    return this.text('modelGone');
  }

  dropChosenModel(model: string): Change[] {
    return [this.set('modelGone', model, 'attempts', 0), this.unset('tried', 'blamed')];
  }

  /** Marks the message as suspect, because the model refused the content of the message or of its conversation. */
  markSuspect(): Change {
    return this.set('blamed', 1);
  }

  /** Undoes `markSuspect`, because the refusal had another cause. */
  clearSuspicion(): Change {
    return this.unset('blamed');
  }

  /** Enters a stage of recovery: counts the recovery, and resets the attempts, the silences and the wait for the endpoint. */
  enter(stage: RecoveryStage): Change[] {
    return [this.set('stage', stage, 'attempts', 0), this.add('recoveries', 1), this.unset('silences', ...OUTAGE)];
  }

  /** The recovery steps tried so far, oldest first. Lists only steps that have a limit on the number of tries. */
  get tried(): readonly string[] {
    return this.text('tried')?.split(',') ?? [];
  }

  noteTried(steps: readonly string[]): Change {
    return this.set('tried', [...this.tried, ...steps].join(','));
  }

  /** Takes this attempt off the count, so that it does not use up one of the message's attempts. */
  refundAttempt(): Change {
    return this.add('attempts', -1);
  }

  askForOutput(maxOutputTokens: number): Change {
    return this.set('maxOutputTokens', maxOutputTokens);
  }

  /** Stores the number of a round of tools. Restarts the counts of attempts and recoveries, because the turn makes progress. */
  recordRound(round: number, { recoveries, stage }: { recoveries: number; stage: RecoveryStage }): Change[] {
    return [
      this.set('rounds', round, 'attempts', 1, 'recoveriesBefore', recoveries, 'stage', stage),
      this.unset('silences', ...OUTAGE),
    ];
  }

  /** Starts a trial: the next attempts run in the fresh session, while the chat stays in `trial.of`. */
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

  /** Stores the conclusion and sets `attempts` to 1. Call this before the first send of the reply. */
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

  /** Stores the end of an attempt that has a verdict. Clears the count of crashes in a row, as there was no crash. */
  endAttempt(end: EndedAttempt): Change[] {
    const ends = JSON.stringify([...this.ends, end].slice(-ENDS_MAX));
    return [this.unset('running', 'cutFrom', 'crashesInRow'), this.set('ended', ends)];
  }
}

/** The turn of a message, for code outside of its attempts. Without `fields`, use only the methods that return changes. */
export function turnOf(keys: Pick<Keys, 'turn'>, entry: EntryId, fields = new Map<string, string>()): TurnRecord {
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
