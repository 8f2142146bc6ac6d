import { jsonValue } from '../../base/fields.ts';
import type { EntryId } from '../../redis/keys.ts';
import type { Change } from '../change.ts';

/** A Redis hash with its fields as of one moment. The methods of subclasses read these fields or return changes to write. */
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

/** The links of a message to other messages: merges, retries and reports. */
export class MergeState extends Fields {
  /** The message that this one was merged into, if any. */
  get mergedInto(): EntryId | undefined {
    return this.text('mergedInto') as EntryId | undefined;
  }

  mergeInto(entry: EntryId): Change {
    return this.set('mergedInto', entry);
  }

  /** Whether the message that this one was merged into failed. */
  get isFailedMerge(): boolean {
    return this.fields.has('mergedFailed');
  }

  failMerge(): Change {
    return this.set('mergedFailed', 1);
  }

  /** How many messages the last attempt found to merge. The next attempt merges them, unless their number has changed. */
  get piecesSeen(): number | undefined {
    return this.number('piecesSeen');
  }

  notePieceCount(count: number): Change {
    return this.set('piecesSeen', count);
  }

  /** The messages that were merged into this one; `undefined` until an attempt has stored the list. */
  get pieces(): EntryId[] | undefined {
    return this.json('pieces');
  }

  takePieces(entries: readonly EntryId[]): Change {
    return this.set('pieces', JSON.stringify(entries));
  }

  /** Whether this command cancelled other messages when it entered its lane, or came behind a waiting command that did. */
  get hasCancelled(): boolean {
    return this.fields.has('cancelledOthers');
  }

  /** The dead letter that this message, a /retry, replays. */
  get retries(): string | undefined {
    return this.text('retries');
  }

  retry(letter: string): Change {
    return this.set('retries', letter);
  }

  /** Earlier messages that this message's answer also answers. The answer also lists the changes that tools made for them. */
  get reportsFor(): EntryId[] {
    return (this.text('setBefore')?.split(' ') ?? []) as EntryId[];
  }

  reportFor(entries: readonly EntryId[]): Change {
    return this.set('setBefore', entries.join(' '));
  }
}

/** A wait over several attempts. */
export interface Wait {
  /** The sum of all delays so far. The difference between two clock times would be wrong after a step of the clock. */
  waitedMs: number;
  tries: number;
}

/** The fields of the wait for the model's endpoint. Each round of tools and each recovery step deletes these fields. */
export const OUTAGE = ['outageWaitedMs', 'outageTries'] as const;
const TELEGRAM = ['telegramWaitedMs', 'telegramTries'] as const;

/** The waits of a message for the model's endpoint and for Telegram. */
export class Waits extends Fields {
  /** The wait for the model's endpoint. */
  get outage(): Wait {
    return this.#wait(OUTAGE);
  }

  storeModelWait({ waitedMs, tries }: Wait): Change {
    return this.set(OUTAGE[0], Math.round(waitedMs), OUTAGE[1], tries);
  }

  /** The wait of the finished answer for Telegram; `tries` counts failed sends, but not calls that the breaker held back. */
  get telegram(): Wait {
    return this.#wait(TELEGRAM);
  }

  storeTelegramWait({ waitedMs, tries }: Wait): Change {
    return this.set(TELEGRAM[0], Math.round(waitedMs), TELEGRAM[1], tries);
  }

  /** The kinds of refusal that Telegram has given for the finished answer. */
  get refusals(): readonly string[] {
    return this.text('telegramRefusals')?.split(',') ?? [];
  }

  noteRefusal(kind: string): Change {
    return this.set('telegramRefusals', [...this.refusals, kind].join(','));
  }

  #wait([waitedMs, tries]: readonly [string, string]): Wait {
    return { waitedMs: this.number(waitedMs) ?? 0, tries: this.number(tries) ?? 0 };
  }
}

/** The delivery of a reply's parts, and the message that shows the progress. */
export class Reply extends Fields {
  markOf(at: PartPlace): PartMark | undefined {
    return this.text(`part:${at}`) as PartMark | undefined;
  }

  /** Stores how far a send has come. Pass `undefined` if certainly nothing was sent; this removes the mark. */
  mark(at: PartPlace, mark: PartMark | undefined): Change {
    return mark === undefined ? this.unset(`part:${at}`) : this.set(`part:${at}`, mark);
  }

  /** Whether the answer to a summons goes to the person's private chat, because the chat of the summons accepts no answer. */
  get isPrivate(): boolean {
    return this.fields.has('reply:private');
  }

  markPrivate(): Change {
    return this.set('reply:private', 1);
  }

  /** Whether this answer is the replay of an answer that Telegram refused. The gateway itself replays an answer only once. */
  get wasReplayed(): boolean {
    return this.fields.has('reply:back');
  }

  markForReplay(): Change {
    return this.set('reply:back', 1);
  }

  /** The id of the message that shows the progress; `sending` until Telegram returns the id; absent without such a message. */
  get statusLine(): number | 'sending' | undefined {
    const line = this.text('statusLine');
    return line === undefined || line === 'sending' ? line : Number(line);
  }

  storeStatusMessage(line: number | 'sending'): Change {
    return this.set('statusLine', line);
  }

  clearStatusMessage(): Change {
    return this.unset('statusLine');
  }
}

/** The end of an attempt that did not settle its message. */
export interface EndedAttempt {
  atMs: number;
  attempt: number;
  /** A short code, such as `overloaded`. */
  reason: string;
  /** The delay until the next attempt; absent if no delay was set. */
  delayMs?: number;
}

/** The stored ends of a turn's attempts, oldest first; none if they are unreadable. */
export function endsIn(json: string | undefined): EndedAttempt[] {
  const ends = jsonValue(json);
  return Array.isArray(ends) ? ends : [];
}

/**
 * How far one send of a reply has come. `sending`: an attempt was about to send. `sent`: Telegram confirmed the message.
 * `unsure`: the part was sent twice, and Telegram confirmed neither send. `resent`: a mark of version 0.3, read like `sending`.
 */
export type PartMark = 'sending' | 'resent' | 'sent' | 'unsure';

/** Names one send of a reply: a part, by its index, or the repeat of a part after an unknown result (`text` repeats part 0). */
export type PartPlace = number | 'text' | `${number}:text`;
