import { jsonValue } from '../../base/fields.ts';
import type { EntryId } from '../../redis/keys.ts';
import type { Change } from '../change.ts';

/** A hash of the state, with its fields as of one moment. Methods of its subclasses return changes. */
export class Fields {
  protected readonly key: string;
  protected readonly fields: ReadonlyMap<string, string>;

  constructor(key: string, fields: ReadonlyMap<string, string>) {
    this.key = key;
    this.fields = fields;
  }

  protected set(...fields: (string | number)[]): Change {
    return ['HSET', this.key, ...fields];
  }

  protected unset(...names: string[]): Change {
    return ['HDEL', this.key, ...names];
  }

  protected add(name: string, by: number): Change {
    return ['HINCRBY', this.key, name, by];
  }

  protected text(name: string): string | undefined {
    return this.fields.get(name);
  }

  protected number(name: string): number | undefined {
    const text = this.fields.get(name);
    return text === undefined ? undefined : Number(text);
  }

  protected json<T>(name: string): T | undefined {
    const text = this.fields.get(name);
    return text === undefined ? undefined : (JSON.parse(text) as T);
  }
}

/** How a message is merged: its pieces, the message that took it, and the messages whose changes its answer reports. */
export class MergeState extends Fields {
  /** The message that took it. */
  get mergedInto(): EntryId | undefined {
    return this.text('mergedInto') as EntryId | undefined;
  }

  mergeInto(entry: EntryId): Change {
    return this.set('mergedInto', entry);
  }

  /** The message that took it failed. */
  get isFailedMerge(): boolean {
    return this.fields.has('mergedFailed');
  }

  failMerge(): Change {
    return this.set('mergedFailed', 1);
  }

  /** The number of further pieces at the last look. */
  get piecesSeen(): number | undefined {
    return this.number('piecesSeen');
  }

  notePieceCount(count: number): Change {
    return this.set('piecesSeen', count);
  }

  /** The further pieces that the message took. */
  get pieces(): EntryId[] | undefined {
    return this.json('pieces');
  }

  takePieces(entries: readonly EntryId[]): Change {
    return this.set('pieces', JSON.stringify(entries));
  }

  /** Whether the message is a command that cancelled others when it was admitted. */
  get hasCancelled(): boolean {
    return this.fields.has('cancelledOthers');
  }

  /** The dead letter that a command replays. */
  get retries(): string | undefined {
    return this.text('retries');
  }

  retry(letter: string): Change {
    return this.set('retries', letter);
  }

  /** The earlier messages whose answer is this one, after they had called tools: it lists their changes as well. */
  get reportsFor(): EntryId[] {
    return (this.text('setBefore')?.split(' ') ?? []) as EntryId[];
  }

  reportFor(entries: readonly EntryId[]): Change {
    return this.set('setBefore', entries.join(' '));
  }
}

/** Time is kept as sums of durations, not as differences of clock times: a step of the clock would end a wait early. */
export interface Waited {
  waitedMs: number;
  tries: number;
}

/** The fields of a wait for the model's endpoint, deleted when a call succeeds. */
export const OUTAGE = ['outageWaitedMs', 'outageTries'] as const;
const TELEGRAM = ['telegramWaitedMs', 'telegramTries'] as const;

/** The waits of a message for the model's endpoint and for Telegram. */
export class Waits extends Fields {
  /** The wait for the model's endpoint. */
  get outage(): Waited {
    return this.#waited(OUTAGE);
  }

  storeModelWait({ waitedMs, tries }: Waited): Change {
    return this.set(OUTAGE[0], Math.round(waitedMs), OUTAGE[1], tries);
  }

  /** The wait of the finished answer for Telegram; `tries` are the sends with an unknown result. */
  get telegram(): Waited {
    return this.#waited(TELEGRAM);
  }

  storeTelegramWait({ waitedMs, tries }: Waited): Change {
    return this.set(TELEGRAM[0], Math.round(waitedMs), TELEGRAM[1], tries);
  }

  /** The kinds of refusal that Telegram gave once for the finished answer. */
  get refusals(): readonly string[] {
    return this.text('telegramRefusals')?.split(',') ?? [];
  }

  noteRefusal(kind: string): Change {
    return this.set('telegramRefusals', [...this.refusals, kind].join(','));
  }

  #waited([waited, tries]: readonly [string, string]): Waited {
    return { waitedMs: this.number(waited) ?? 0, tries: this.number(tries) ?? 0 };
  }
}

/** The state of a reply's parts at Telegram, and of the message that shows the progress. */
export class Reply extends Fields {
  markOf(at: PartPlace): PartMark | undefined {
    return this.text(`part:${at}`) as PartMark | undefined;
  }

  /** `undefined` when certainly nothing was sent. */
  mark(at: PartPlace, mark: PartMark | undefined): Change {
    return mark === undefined ? this.unset(`part:${at}`) : this.set(`part:${at}`, mark);
  }

  /** The answer to a summons cannot be shown where it was asked: it goes to the person's own chat. */
  get isPrivate(): boolean {
    return this.fields.has('reply:private');
  }

  markPrivate(): Change {
    return this.set('reply:private', 1);
  }

  /** The answer was refused, dead-lettered and marked for one replay. It is not replayed twice. */
  get wasReplayed(): boolean {
    return this.fields.has('reply:back');
  }

  markForReplay(): Change {
    return this.set('reply:back', 1);
  }

  /** The message that shows the progress: `sending` while its id is not known. */
  get statusLine(): number | 'sending' | undefined {
    const stored = this.text('statusLine');
    return stored === undefined || stored === 'sending' ? stored : Number(stored);
  }

  storeStatusMessage(line: number | 'sending'): Change {
    return this.set('statusLine', line);
  }

  clearStatusMessage(): Change {
    return this.unset('statusLine');
  }
}

/** The end of an attempt after which its message goes on. */
export interface EndedAttempt {
  atMs: number;
  /** The number of the attempt. */
  attempt: number;
  /** A short code, such as `overloaded`. */
  reason: string;
  /** How long the message was delayed; absent if it went on at once. */
  delayMs?: number;
}

/** The most ends that a turn keeps: it may wait for hours, and each attempt adds one. */
const ENDS_KEPT = 20;

/** The ends that a turn's record holds, oldest first; none if the record cannot be read. */
export function endsIn(json: string | undefined): EndedAttempt[] {
  const ends = jsonValue(json);
  return Array.isArray(ends) ? ends : [];
}

/** Adds an end, and drops the oldest beyond the limit. */
export function withEnd(ends: readonly EndedAttempt[], end: EndedAttempt): EndedAttempt[] {
  return [...ends, end].slice(-ENDS_KEPT);
}

/**
 * The state of a part of a reply. `sending`: an attempt was about to send it. `sent`: Telegram confirmed it. `unsure`:
 * the result of its repeat is unknown, too. `resent` is of version 0.3.
 */
export type PartMark = 'sending' | 'resent' | 'sent' | 'unsure';

/** A place of a reply: a part by its index, or its repeat after an unknown result; `text` is the repeat of part 0. */
export type PartPlace = number | 'text' | `${number}:text`;
