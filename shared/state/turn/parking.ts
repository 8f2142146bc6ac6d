import type { Expected } from '../../../worker/lane/attempt.ts';
import type { Change } from '../change.ts';
import { Fields } from './aspects.ts';

/** What a parked turn waits for. */
export interface Parked {
  /** Names the question among those of its message. */
  id: string;
  /** By when somebody must have decided, in ms since the epoch. */
  untilMs: number;
  /** The answers to choose from; none where calls wait for an approval. */
  choices: readonly string[];
  /** The ids of the calls that wait for an approval. */
  calls: readonly string[];
  /** Their tools. */
  tools: readonly string[];
  /** Those of them that a press may allow for good. */
  mayBecomeUsual: readonly string[];
}

/** How a question was decided: by a press, by a text written instead, or by nobody. */
export interface Decision {
  how: 'once' | 'always' | 'chosen' | 'declined' | 'written' | 'late' | 'untold';
  /** Who decided; absent where nobody did. */
  by?: { id: number; name?: string | undefined } | undefined;
  /** The choice, or what was written. */
  text?: string;
  /** The ids of the calls that were asked for; absent for a question. */
  calls?: readonly string[];
}

/** The question that a turn waits with, without a slot or a job, and the decisions on those before it. */
export class Parking extends Fields {
  /** The newest question, decided or not. */
  get newest(): Parked | undefined {
    return this.json('parked');
  }

  /** What the turn waits for; undefined once it is decided. */
  get waitsFor(): Parked | undefined {
    const { newest } = this;
    return newest === undefined || this.decisionOf(newest.id) !== undefined ? undefined : newest;
  }

  /**
   * The head of a lane that waits in this way is left alone until somebody decides, its time is over, or more than
   * `behind` messages stand behind it.
   */
  park(parked: Parked, behind: number): Change {
    const { id, untilMs } = parked;
    return this.set('parked', JSON.stringify(parked), 'parkedAs', id, 'parkedUntil', untilMs, 'parkedBehind', behind);
  }

  /** Whether it still waits, with so many messages behind it in its lane: see `heads.lua`. */
  isLeftAlone(behind: number): boolean {
    const seen = this.number('parkedBehind');
    return seen !== undefined && behind <= seen && !this.fields.has('cancelled');
  }

  decisionOf(id: string): Decision | undefined {
    return this.json(`decided:${id}`);
  }

  /** Decides a question. Only to be written while `isUndecided` holds: the first decision stands. */
  decide(id: string, decision: Decision, nowMs: number): Change[] {
    return [
      this.set(`decided:${id}`, JSON.stringify(decision), 'resumedAt', nowMs),
      this.unset('parkedUntil', 'parkedBehind'),
    ];
  }

  /** Holds while nobody has decided it. */
  isUndecided(id: string): Expected[] {
    return [
      [this.key, `decided:${id}`, ''],
      [this.key, 'cancelled', ''],
      [this.key, 'conclusion', ''],
    ];
  }

  /** Holds while it is the newest one. */
  isAsked(id: string): Expected {
    return [this.key, 'parkedAs', id];
  }

  /** The message that asks. */
  askedIn(id: string): number | undefined {
    return this.number(`asked:${id}`);
  }

  /** The message that asks what is not decided. */
  get shown(): number | undefined {
    return this.waitsFor && this.askedIn(this.waitsFor.id);
  }

  /** When it was asked, by the clock behind entry ids; undefined while it certainly is not shown. */
  askedAtMs(id: string): number | undefined {
    return this.number(`askedAt:${id}`);
  }

  /** It is shown; without a message it may be, as far as anybody knows. */
  ask(id: string, messageId: number | undefined, atMs: number): Change {
    return this.set(...(messageId === undefined ? [] : [`asked:${id}`, messageId]), `askedAt:${id}`, atMs);
  }
}
