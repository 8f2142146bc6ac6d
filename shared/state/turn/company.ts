import type { EntryId } from '../../redis/keys.ts';
import type { Change } from '../change.ts';
import { Fields } from './fields.ts';

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

  /** The message whose reply reports on this one. */
  get reportedBy(): EntryId | undefined {
    return this.text('reportedBy') as EntryId | undefined;
  }

  reportBy(entry: EntryId): Change {
    return this.set('reportedBy', entry);
  }

  /** Its reply could not be delivered, so nobody was told. */
  clearReported(): Change {
    return this.unset('reportedBy');
  }

  /** How many refused messages it saw in its lane when it last looked, and how often it looked. */
  get refusedSeen(): { count: number; looks: number } {
    const [count = -1, looks = 0] = this.text('refusedSeen')?.split(' ').map(Number) ?? [];
    return { count, looks };
  }

  seeRefused(count: number, looks: number): Change {
    return this.set('refusedSeen', `${count} ${looks}`);
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
