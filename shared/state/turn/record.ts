import type { Outcome } from '../../flow/message.ts';
import type { FilePart, Part } from '../../flow/reply.ts';
import type { EntryId, Keys, SessionId } from '../../redis/keys.ts';
import type { Button } from '../../telegram/messages.ts';
import type { Change, Expected } from '../change.ts';
import { Company, type EndedAttempt, endsIn, Fields, OUTAGE, Reply, Waits, withEnd } from './aspects.ts';
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

/** Who cancelled a message that an operator cancelled alone: then no reply of a command notifies the user. */
export const BY_OPERATOR = 'operator';

/** The model's text so far, which people may have seen, and the number of its characters that the session has already. */
export interface Said {
  text: string;
  recordedChars: number;
}

/** A message on its way: what its attempts found out and did. One hash, from its first attempt until it is settled. */
export class TurnRecord extends Fields {
  /** The other messages of its lane that it was merged or answered with. */
  readonly company: Company;
  /** The waits for the model and for Telegram. */
  readonly waits: Waits;
  /** The question that it is parked with. */
  readonly parking: Parking;
  /** The state of the reply's parts at Telegram. */
  readonly reply: Reply;

  constructor(key: string, fields: ReadonlyMap<string, string>) {
    super(key, fields);
    this.company = new Company(key, fields);
    this.waits = new Waits(key, fields);
    this.parking = new Parking(key, fields);
    this.reply = new Reply(key, fields);
  }

  /** A step of the message was written in an earlier attempt; see `Turn.write`. */
  hasDone(step: string): boolean {
    return this.fields.has(`did:${step}`);
  }

  /** The fencing token of the attempt before this one, however that ended. */
  get fenceBefore(): string | undefined {
    return this.text('fencesBefore')?.split(' ')[0];
  }

  /** The command that cancelled it, or `BY_OPERATOR`. */
  get cancelledBy(): string | undefined {
    return this.text('cancelled');
  }

  /** Holds while nobody has cancelled it. */
  notCancelled(): Expected {
    return [this.key, 'cancelled', ''];
  }

  /** Its lane was full when it came: a call from a chat without the bot is then refused. */
  get isRefused(): boolean {
    return this.fields.has('refused');
  }

  /** The new id of its chat. */
  get migratedTo(): number | undefined {
    return this.number('migratedTo');
  }

  migrateTo(chatId: number): Change {
    return this.set('migratedTo', chatId);
  }

  /** What was read once of a file or a recording, under a name of the reader's. */
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

  get said(): Said {
    return { text: this.text('said') ?? '', recordedChars: this.number('saidRecorded') ?? 0 };
  }

  say({ text, recordedChars }: Said): Change {
    return this.set('said', text, 'saidRecorded', recordedChars);
  }

  unsay(): Change {
    return this.unset('said', 'saidRecorded');
  }

  /** How long the earlier attempts ran, without their recoveries. */
  get spentMs(): number {
    return this.number('spentMs') ?? 0;
  }

  spend(totalMs: number): Change {
    return this.set('spentMs', Math.round(totalMs));
  }

  /** How long the recovery that was cut short has run. */
  get recoverySpentMs(): number {
    return this.number('recoverySpentMs') ?? 0;
  }

  spendOnRecovery(totalMs: number): Change {
    return this.set('recoverySpentMs', Math.round(totalMs));
  }

  /** How many of its calls fell silent since the last answer or recovery. */
  fallSilent(times: number): Change {
    return this.set('silences', times);
  }

  /** The model that its chat chose and cannot use: the default model is asked instead. */
  get goneModel(): string | undefined {
    return this.text('modelGone');
  }

  setModelAside(model: string): Change[] {
    return [this.set('modelGone', model, 'attempts', 0), this.unset('tried', 'blamed')];
  }

  /** A refusal named its content, or that of its conversation: it may be at fault. */
  blame(): Change {
    return this.set('blamed', 1);
  }

  /** Something else was at fault. */
  clearBlame(): Change {
    return this.unset('blamed');
  }

  /** A stage of recovery, one more recovery, and a reset count of attempts: progress was made. */
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

  /** Nothing was tried: no attempt is used. */
  freeAttempt(): Change {
    return this.add('attempts', -1);
  }

  /** The next request is a different one: all attempts are left. */
  renewAttempts(): Change {
    return this.set('attempts', 0);
  }

  askForOutput(maxOutputTokens: number): Change {
    return this.set('maxOutputTokens', maxOutputTokens);
  }

  /** A round of tools is stored: progress, which resets the attempts and the bound on recoveries. */
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

  /** The message stands in the log of a session, at this index: the mark that recording it there sets. */
  recordIn(session: SessionId, index: number): Change {
    return this.set(`did:${recordStep(session)}`, index);
  }

  /** Whether it stands there. */
  isRecordedIn(session: SessionId): boolean {
    return this.hasDone(recordStep(session));
  }

  /** How it ends. Before any of it is delivered. */
  conclude(conclusion: Conclusion): Change {
    return this.set('conclusion', JSON.stringify(conclusion), 'attempts', 1);
  }

  /** What is delivered changes, and not how often it was tried. */
  reviseConclusion(conclusion: Conclusion): Change {
    return this.set('conclusion', JSON.stringify(conclusion));
  }

  /** The user has the answer: what follows is nobody's wait. */
  markReplied(): Change {
    return this.set('replied', 1);
  }

  /** How its newest attempts ended, oldest first; none when that cannot be read. */
  get ends(): EndedAttempt[] {
    return endsIn(this.text('ended'));
  }

  /** An attempt ended with a verdict, so its process did not crash. */
  endAttempt(end: EndedAttempt): Change[] {
    const ends = JSON.stringify(withEnd(this.ends, end));
    return [this.unset('running', 'cutFrom', 'crashesInRow'), this.set('ended', ends)];
  }
}

/** The turn of a message; without its fields as of the start of an attempt it can only be changed. */
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

/** A message that is no candidate for having crashed a process any more. */
export function clearPoisonCandidate(keys: Pick<Keys, 'poisonCandidates'>, entry: EntryId): Change {
  return ['ZREM', keys.poisonCandidates, entry];
}
