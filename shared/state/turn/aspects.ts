import { jsonValue } from '../../base/fields.ts';
import type { EntryId } from '../../redis/keys.ts';
import type { Change } from '../change.ts';

/** A hash of the state: read as of one moment, changed by the verbs of whoever extends it. */
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

/** What binds a message to others of its lane: pieces that it took, a message that took it, a reply that reports on it. */
export class Company extends Fields {
  /** The message into which it was merged. */
  get mergedInto(): EntryId | undefined {
    return this.text('mergedInto') as EntryId | undefined;
  }

  mergeInto(entry: EntryId): Change {
    return this.set('mergedInto', entry);
  }

  /** The message into which it was merged failed. */
  get isFailedMerge(): boolean {
    return this.fields.has('mergedFailed');
  }

  failMerge(): Change {
    return this.set('mergedFailed', 1);
  }

  /** How many further pieces it had when it last looked. */
  get piecesSeen(): number | undefined {
    return this.number('piecesSeen');
  }

  seePieces(count: number): Change {
    return this.set('piecesSeen', count);
  }

  /** The further pieces that it took. */
  get pieces(): EntryId[] | undefined {
    return this.json('pieces');
  }

  takePieces(entries: readonly EntryId[]): Change {
    return this.set('pieces', JSON.stringify(entries));
  }

  /** A command that cancelled others, when it was admitted. */
  get hasCancelled(): boolean {
    return this.fields.has('cancelledOthers');
  }

  /** The dead letter that a command puts back. */
  get retries(): string | undefined {
    return this.text('retries');
  }

  retry(letter: string): Change {
    return this.set('retries', letter);
  }

  /** The messages before it that it is answered together with, after they had called tools. */
  get answersWith(): EntryId[] {
    return (this.text('setBefore')?.split(' ') ?? []) as EntryId[];
  }

  answerWith(entries: readonly EntryId[]): Change {
    return this.set('setBefore', entries.join(' '));
  }
}

/** Time is kept as sums of durations, never as differences of clock times: a clock that is wrong would end a wait at once. */
export interface Waited {
  waitedMs: number;
  tries: number;
}

/** The fields that end when a call goes through. */
export const OUTAGE = ['outageWaitedMs', 'outageTries'] as const;
const TELEGRAM = ['telegramWaitedMs', 'telegramTries'] as const;

/** What a message waits for: the endpoint of the model, or Telegram. */
export class Waits extends Fields {
  /** How it waits for the endpoint of the model. */
  get outage(): Waited {
    return this.#waited(OUTAGE);
  }

  waitForModel({ waitedMs, tries }: Waited): Change {
    return this.set(OUTAGE[0], Math.round(waitedMs), OUTAGE[1], tries);
  }

  /** How its finished answer waits for Telegram; `tries` are the sends that ended without Telegram's word. */
  get telegram(): Waited {
    return this.#waited(TELEGRAM);
  }

  waitForTelegram({ waitedMs, tries }: Waited): Change {
    return this.set(TELEGRAM[0], Math.round(waitedMs), TELEGRAM[1], tries);
  }

  /** The kinds of refusal that its finished answer met once at Telegram. */
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

/** What is known of the parts of a reply at Telegram, and of the line that shows its progress. */
export class Reply extends Fields {
  markOf(at: PartPlace): PartMark | undefined {
    return this.text(`part:${at}`) as PartMark | undefined;
  }

  /** `undefined` when certainly nothing was sent. */
  mark(at: PartPlace, mark: PartMark | undefined): Change {
    return mark === undefined ? this.unset(`part:${at}`) : this.set(`part:${at}`, mark);
  }

  /** The answer to a summons cannot be put where it was asked: it goes to the person's own chat. */
  get isPrivate(): boolean {
    return this.fields.has('reply:private');
  }

  goPrivate(): Change {
    return this.set('reply:private', 1);
  }

  /** It was given up, and put back when its chat took another message: it does not come back again. */
  get hasComeBack(): boolean {
    return this.fields.has('reply:back');
  }

  comeBack(): Change {
    return this.set('reply:back', 1);
  }

  /** The message that shows the progress: `sending` while its id is not known. */
  get statusLine(): number | 'sending' | undefined {
    const stored = this.text('statusLine');
    return stored === undefined || stored === 'sending' ? stored : Number(stored);
  }

  showStatus(line: number | 'sending'): Change {
    return this.set('statusLine', line);
  }

  hideStatus(): Change {
    return this.unset('statusLine');
  }
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

/** A turn may wait for hours, and each of its attempts adds one. */
const ENDS_KEPT = 20;

/** The ends that a turn's record holds, oldest first; none when it cannot be read. */
export function endsIn(json: string | undefined): EndedAttempt[] {
  const ends = jsonValue(json);
  return Array.isArray(ends) ? ends : [];
}

/** The ends with one more, of which the newest stay. */
export function withEnd(ends: readonly EndedAttempt[], end: EndedAttempt): EndedAttempt[] {
  return [...ends, end].slice(-ENDS_KEPT);
}

/**
 * State of a part of a reply: `sending` means that an attempt was about to send it. `resent` is of version 0.3.
 * `sent`: Telegram has confirmed it. `unsure`: it was repeated, and Telegram did not say whether it took the repeat.
 */
export type PartMark = 'sending' | 'resent' | 'sent' | 'unsure';

/**
 * A place of a reply: a part by its index, or its repeat after an unknown result. That without an index is the first part's.
 */
export type PartPlace = number | 'text' | `${number}:text`;
