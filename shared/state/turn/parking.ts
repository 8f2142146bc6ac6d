import type { Change, Expected } from '../change.ts';
import { Fields } from './aspects.ts';

/** A question that a turn is parked with. */
export interface Parked {
  /** The id of the question among those of its message. */
  id: string;
  /** The time until which somebody must decide, in ms since the epoch. */
  untilMs: number;
  /** The answers to choose from; none for calls that need an approval. */
  choices: readonly string[];
  /** The calls that needed an approval when the question was asked. */
  calls: readonly ParkedCall[];
}

/** A call that needed an approval when its question was asked. */
interface ParkedCall {
  id: string;
  tool: string;
  /** The definition of the tool that a press may grant; absent if the tool asks each time. */
  definition?: string | undefined;
  /** The decision on this call alone; absent while the question decides. */
  how?: 'always' | 'beyond' | undefined;
}

/**
 * The decision on a call or a question: by a press, by a text written instead, or by nobody. `untold`: the question could
 * not be shown. `beyond`: one message had no room to ask about the call.
 */
export type CallDecision = 'once' | 'always' | 'chosen' | 'declined' | 'written' | 'late' | 'untold' | 'beyond';

/** How a question was decided. */
export interface Decision {
  how: Exclude<CallDecision, 'beyond'>;
  /** The person who decided; absent if nobody did. */
  by?: { id: number; name?: string | undefined } | undefined;
  /** The choice, or what was written. */
  text?: string;
  /** The decision on each call, by its id; absent for a question of the model. */
  calls?: Readonly<Record<string, CallDecision>>;
}

/** The tools of the calls that a question shows, each once. Pure. */
export function toolsShown({ calls }: Pick<Parked, 'calls'>): string[] {
  return [...new Set(calls.filter(({ how }) => how !== 'beyond').map(({ tool }) => tool))];
}

/** The decision on each call of a question that was decided in this way; none for a question of the model. Pure. */
export function callDecisions({ calls }: Pick<Parked, 'calls'>, how: CallDecision): Pick<Decision, 'calls'> {
  return calls.length === 0 ? {} : { calls: Object.fromEntries(calls.map((call) => [call.id, call.how ?? how])) };
}

/** The question that a turn waits with, without a slot or a job, and the decisions on those before it. */
export class Parking extends Fields {
  /** The newest question, decided or not. */
  get newest(): Parked | undefined {
    return this.json('parked');
  }

  /** The open question; undefined once it is decided. */
  get waitsFor(): Parked | undefined {
    const { newest } = this;
    return newest === undefined || this.decisionOf(newest.id) !== undefined ? undefined : newest;
  }

  /**
   * Parks the turn with a question, which keeps its first wording. The reconciler adds no job for it until somebody
   * decides, `untilMs` has passed, or more than `behind` messages wait behind it.
   */
  park(parked: Parked, behind: number): Change {
    const { id, untilMs } = parked;
    const question = this.newest?.id === id ? [] : ['parked', JSON.stringify(parked)];
    return this.set(...question, 'parkedAs', id, 'parkedUntil', untilMs, 'parkedBehind', behind);
  }

  /** The same question, with verdicts on some of its calls. */
  keepOpen(parked: Parked): Change {
    return this.set('parked', JSON.stringify(parked));
  }

  /** Whether the turn stays parked, with this many messages behind it in its lane: see `heads.lua`. */
  staysParked(behind: number): boolean {
    const seen = this.number('parkedBehind');
    return seen !== undefined && behind <= seen && !this.fields.has('cancelled');
  }

  decisionOf(id: string): Decision | undefined {
    return this.json(`decided:${id}`);
  }

  /** Decides a question. Only to be written with `expectUndecided`: the first decision stands. */
  decide(id: string, decision: Decision, nowMs: number): Change[] {
    return [
      this.set(`decided:${id}`, JSON.stringify(decision), 'resumedAt', nowMs),
      this.unset('parkedUntil', 'parkedBehind'),
    ];
  }

  /** Holds while nobody has decided the question. */
  expectUndecided(id: string): Expected[] {
    return [
      [this.key, `decided:${id}`, ''],
      [this.key, 'cancelled', ''],
      [this.key, 'conclusion', ''],
    ];
  }

  /** Holds while the turn is parked with exactly this question. */
  expectAsked(parked: Parked): Expected {
    return [this.key, 'parked', JSON.stringify(parked)];
  }

  /** The message that shows the question. */
  askedIn(id: string): number | undefined {
    return this.number(`asked:${id}`);
  }

  /** Whether the file above the question was sent. */
  hasFile(id: string): boolean {
    return this.fields.has(`askedFile:${id}`);
  }

  /** Notes that the file was sent, so that no attempt sends it again. */
  markFileSent(id: string): Change {
    return this.set(`askedFile:${id}`, 1);
  }

  /** The message that shows the open question. */
  get shown(): number | undefined {
    return this.waitsFor && this.askedIn(this.waitsFor.id);
  }

  /** When the question was sent, by Redis' clock; undefined while it is certainly not in the chat. */
  askedAtMs(id: string): number | undefined {
    return this.number(`askedAt:${id}`);
  }

  /** The question is in the chat, as this message; without a `messageId` it may be. */
  markAsked(id: string, messageId: number | undefined, atMs: number): Change {
    return this.set(...(messageId === undefined ? [] : [`asked:${id}`, messageId]), `askedAt:${id}`, atMs);
  }
}
