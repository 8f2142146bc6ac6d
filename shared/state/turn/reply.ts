import type { PartMark, PartPlace } from '../../../worker/lane/attempt.ts';
import type { Change } from '../change.ts';
import { Fields } from './fields.ts';

/** What is known of the parts of a reply at Telegram, and of the line that shows its progress. */
export class Reply extends Fields {
  markOf(at: PartPlace): PartMark | undefined {
    return this.text(`part:${at}`) as PartMark | undefined;
  }

  /** `undefined` when certainly nothing was sent. */
  mark(at: PartPlace, mark: PartMark | undefined): Change {
    return mark === undefined ? this.unset(`part:${at}`) : this.set(`part:${at}`, mark);
  }

  /** When a place was last sent, in ms since the epoch; 0 for never, or where it is known that it did not arrive. */
  sentMs(at: PartPlace): number {
    return this.number(`tried:${at}`) ?? 0;
  }

  send(at: PartPlace, nowMs: number): Change {
    return this.set(`tried:${at}`, nowMs);
  }

  /** A server or a proxy answered instead of Telegram: nothing was sent. */
  unsend(at: PartPlace): Change {
    return this.unset(`tried:${at}`);
  }

  /** How often a place was sent without anybody's word. */
  losses(at: PartPlace): number {
    return this.number(`lost:${at}`) ?? 0;
  }

  lose(at: PartPlace): Change {
    return this.add(`lost:${at}`, 1);
  }

  /** The id of the message that a repeated text is edited into, by the name of its place. */
  placeholder(name: string): number | undefined {
    return this.number(name);
  }

  place(name: string, messageId: number): Change {
    return this.set(name, messageId);
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
