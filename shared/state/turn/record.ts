import type { Outcome } from '../../flow/message.ts';
import type { FilePart, Part } from '../../flow/reply.ts';
import type { EntryId, Keys, SessionId } from '../../redis/keys.ts';
import type { Button } from '../../telegram/messages.ts';
import type { Change, Expected } from '../change.ts';
import { type EndedAttempt, endsIn, Fields, MergeState, OUTAGE, Reply, Waits, withEnd } from './aspects.ts';
import { Parking } from './parking.ts';

/** How far the recovery of this message has gone. Moves forward only, and is stored with its effect. */
export type RecoveryStage = (typeof RECOVERY_STAGES)[number];
export const RECOVERY_STAGES = ['none', 'compacted', 'fresh'] as const;

/** The end of a message as its user will see it, stored before the first part is sent. */
export interface Conclusion {
  outcome: Outcome;
  /** A short code for the ledger; absent for a plain answer. */
  reason?: string;
  /** The message into which this one was merged, as a fragment of it, or whose reply reports on it. */
  into?: EntryId;
  /** The messages that are sent, in order, as plain texts. */
  parts: readonly string[];
  /** The format of each part; `null` for plain text. Absent if all parts are plain, and before version 0.3. */
  layout?: readonly (Part | FilePart | null)[];
  /** Rows of buttons under the last part that is no file. */
  buttons?: readonly (readonly Button[])[];
  /** The message whose button was pressed keeps its buttons. */
  keepsButtons?: true;
}

/** A fresh session that a message is tried in: its chat moves there only once the message is answered. */
export interface Trial {
  /** The session before. */
  of: SessionId;
  /** The fresh one. */
  in: SessionId;
  /** How many messages and answers the session before has. */
  entries: number;
  /** The notice to the user if the fresh session yields an answer. */
  notice: string;
  /** The reason of the failure that led here. */
  why: string;
}

/** Stands for the command if an operator cancelled a message: then no reply to a command notifies the user. */
export const BY_OPERATOR = 'operator';

/** The partial answer, which people may have seen, and how many of its characters the session has already. */
interface StoredPartialAnswer {
  text: string;
  recordedChars: number;
}

/** The state of a message on its way, in one hash, from its first attempt until it is settled. */
export class TurnRecord extends Fields {
  /** The messages of the lane that it is merged or answered with. */
  readonly merge: MergeState;
  /** The waits for the model and for Telegram. */
  readonly waits: Waits;
  /** The question that the turn is parked with. */
  readonly parking: Parking;
  /** The state of the reply's parts at Telegram. */
  readonly reply: Reply;

  constructor(key: string, fields: ReadonlyMap<string, string>) {
    super(key, fields);
    this.merge = new MergeState(key, fields);
    this.waits = new Waits(key, fields);
    this.parking = new Parking(key, fields);
    this.reply = new Reply(key, fields);
  }

  /** Whether an earlier attempt wrote this step; see `Turn.write`. */
  hasDone(step: string): boolean {
    return this.fields.has(`did:${step}`);
  }

  /** The fencing token of the attempt before this one, however that ended. */
  get fenceBefore(): string | undefined {
    return this.text('fencesBefore')?.split(' ')[0];
  }

  /** The command that cancelled the message, or `BY_OPERATOR`. */
  get cancelledBy(): string | undefined {
    return this.text('cancelled');
  }

  /** Holds while nobody has cancelled the message. */
  expectNotCancelled(): Expected {
    return [this.key, 'cancelled', ''];
  }

  /** The lane was full when the message came. Only a call from a chat without the bot is then refused. */
  get isRefused(): boolean {
    return this.fields.has('refused');
  }

  /** The new id of the chat, a group that became a supergroup. */
  get migratedTo(): number | undefined {
    return this.number('migratedTo');
  }

  migrateTo(chatId: number): Change {
    return this.set('migratedTo', chatId);
  }

  /** The stored text of a file or a recording, under a name that the reader chooses. */
  content(name: string): string | undefined {
    return this.text(name);
  }

  keepContent(name: string, text: string): Change {
    return this.set(name, text);
  }

  forgetContents(names: readonly string[]): Change {
    return this.unset(...names);
  }

  /** Lines shown before the answer, or with the notice of another end. */
  notify(notices: readonly string[]): Change {
    return this.set('notices', JSON.stringify([...new Set(notices)]));
  }

  /** Lines that say how much of the message was read; a later reading replaces an earlier one. */
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

  /** How long the earlier attempts ran, without their recoveries. */
  get spentMs(): number {
    return this.number('spentMs') ?? 0;
  }

  spend(totalMs: number): Change {
    return this.set('spentMs', Math.round(totalMs));
  }

  /** How long the recovery ran that was cut short. */
  get recoverySpentMs(): number {
    return this.number('recoverySpentMs') ?? 0;
  }

  spendOnRecovery(totalMs: number): Change {
    return this.set('recoverySpentMs', Math.round(totalMs));
  }

  /** Stores how many model calls timed out in silence since the last answer or recovery. */
  setSilences(count: number): Change {
    return this.set('silences', count);
  }

  /** The model that the chat chose and cannot use: the default model is asked instead. */
  get goneModel(): string | undefined {
    return this.text('modelGone');
  }

  dropChosenModel(model: string): Change[] {
    return [this.set('modelGone', model, 'attempts', 0), this.unset('tried', 'blamed')];
  }

  /** A refusal named the content of the message, or of its conversation: the message may be the cause. */
  markSuspect(): Change {
    return this.set('blamed', 1);
  }

  /** Something else was the cause. */
  clearSuspicion(): Change {
    return this.unset('blamed');
  }

  /** Enters a stage of recovery: counts the recovery, and gives back all attempts. */
  enter(stage: RecoveryStage): Change[] {
    return [this.set('stage', stage, 'attempts', 0), this.add('recoveries', 1), this.unset('silences', ...OUTAGE)];
  }

  /** The bounded steps of recovery that were taken, oldest first; see `triedBy`. */
  get tried(): readonly string[] {
    return this.text('tried')?.split(',') ?? [];
  }

  noteTried(steps: readonly string[]): Change {
    return this.set('tried', [...this.tried, ...steps].join(','));
  }

  /** Does not count the attempt: nothing was tried. */
  refundAttempt(): Change {
    return this.add('attempts', -1);
  }

  /** Gives back all attempts: the next request is a different one. */
  renewAttempts(): Change {
    return this.set('attempts', 0);
  }

  askForOutput(maxOutputTokens: number): Change {
    return this.set('maxOutputTokens', maxOutputTokens);
  }

  /** Stores a round of tools, and resets the attempts and the bound on recoveries: the turn makes progress. */
  recordRound(round: number, { recoveries, stage }: { recoveries: number; stage: RecoveryStage }): Change[] {
    return [
      this.set('rounds', round, 'attempts', 1, 'recoveriesBefore', recoveries, 'stage', stage),
      this.unset('silences', ...OUTAGE),
    ];
  }

  /** Tries the message in a fresh session: `begin.lua` opens it as long as the chat stays in the session before. */
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

  /** Stores the conclusion and resets `attempts` to 1. Call before the first send. */
  conclude(conclusion: Conclusion): Change {
    return this.set('conclusion', JSON.stringify(conclusion), 'attempts', 1);
  }

  /** Replaces the conclusion and, unlike `conclude`, keeps `attempts`. */
  reviseConclusion(conclusion: Conclusion): Change {
    return this.set('conclusion', JSON.stringify(conclusion));
  }

  /** The user has the answer: from here on the message is not overdue. */
  markReplied(): Change {
    return this.set('replied', 1);
  }

  /** The ends of the newest attempts, oldest first; none when they cannot be read. */
  get ends(): EndedAttempt[] {
    return endsIn(this.text('ended'));
  }

  /** Notes the end of an attempt with a verdict: its process did not crash. */
  endAttempt(end: EndedAttempt): Change[] {
    const ends = JSON.stringify(withEnd(this.ends, end));
    return [this.unset('running', 'cutFrom', 'crashesInRow'), this.set('ended', ends)];
  }
}

/** The turn of a message. Without the fields as of the start of an attempt, changes are all it offers. */
export function turnOf(
  keys: Pick<Keys, 'turn'>,
  entry: EntryId,
  fields: ReadonlyMap<string, string> = new Map(),
): TurnRecord {
  return new TurnRecord(keys.turn(entry), fields);
}

/** The step under which a message is recorded in a session. */
export function recordStep(session: SessionId): string {
  return `user:${session}`;
}

/** Removes a message from the poison candidates. */
export function clearPoisonCandidate(keys: Pick<Keys, 'poisonCandidates'>, entry: EntryId): Change {
  return ['ZREM', keys.poisonCandidates, entry];
}
