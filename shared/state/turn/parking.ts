import type { Change, Expected } from '../change.ts';
import { Fields } from './aspects.ts';

/** A question to a person. The turn waits for the person's decision. */
export interface ParkedQuestion {
  /** Unique among the questions of its message. */
  id: string;
  /** The deadline for the decision, in ms since the epoch. */
  untilMs: number;
  /** The answers to choose from; empty if the question asks for approvals. */
  choices: readonly string[];
  /** The calls to approve; empty for a question of the model. */
  calls: readonly ParkedCall[];
}

/** A tool call that needs an approval. Its fields are as of the moment of the question. */
interface ParkedCall {
  id: string;
  tool: string;
  /** The hash of the tool's definition, for a grant by the button "Always here"; absent if the call cannot lead to a grant. */
  definition?: string | undefined;
  /** A decision on this call alone; absent if the decision on the question applies. */
  how?: 'always' | 'beyond' | undefined;
}

/**
 * The decision on a call or a question. `once`, `always`, `chosen`: a person pressed a button. `written`: the person wrote a
 * text instead. `declined`: the person pressed a button, or sent any other message. `late`: the deadline passed. `untold`: the
 * question could not be sent. `beyond`: the question had no room for the call.
 */
export type CallDecision = 'once' | 'always' | 'chosen' | 'declined' | 'written' | 'late' | 'untold' | 'beyond';

/** The decision on a question. */
export interface Decision {
  how: Exclude<CallDecision, 'beyond'>;
  /** The person who decided; absent if nobody did. */
  by?: { id: number; name?: string | undefined } | undefined;
  /** The choice, or the text that the person wrote. */
  text?: string;
  /** The decision on each call, by its id; absent for a question of the model. */
  calls?: Readonly<Record<string, CallDecision>>;
}

/** The names of the tools whose calls a question shows, each once. Pure. */
export function toolsShown({ calls }: Pick<ParkedQuestion, 'calls'>): string[] {
  return [...new Set(calls.filter(({ how }) => how !== 'beyond').map(({ tool }) => tool))];
}

/** The decisions on a question's calls: each call's own, or else `how`. Empty for a question of the model. Pure. */
export function callDecisions({ calls }: Pick<ParkedQuestion, 'calls'>, how: CallDecision): Pick<Decision, 'calls'> {
  return calls.length === 0 ? {} : { calls: Object.fromEntries(calls.map((call) => [call.id, call.how ?? how])) };
}

/** The questions of a turn and the decisions on them. While the turn waits for a decision, it has no slot and no job. */
export class Parking extends Fields {
  /** The newest question, open or decided; `undefined` if there was none. */
  get newest(): ParkedQuestion | undefined {
    return this.json('parked');
  }

  /** The open question, if any. */
  get openQuestion(): ParkedQuestion | undefined {
    const { newest } = this;
    return newest === undefined || this.decisionOf(newest.id) !== undefined ? undefined : newest;
  }

  /**
   * Makes the turn wait for the decision on a question. If the turn already stores this question, the stored one does not
   * change. Once Telegram has confirmed the question, the reconciler makes the message a job again only when a person decides,
   * the message is cancelled, `untilMs` passes, or more than `messagesBehind` messages are behind the message in its lane.
   */
  park(question: ParkedQuestion, messagesBehind: number): Change {
    const { id, untilMs } = question;
    const newQuestion = this.newest?.id === id ? [] : ['parked', JSON.stringify(question)];
    return this.set(...newQuestion, 'parkedAs', id, 'parkedUntil', untilMs, 'parkedBehind', messagesBehind);
  }

  /** Stores the open question with decisions on some of its calls. */
  keepOpen(question: ParkedQuestion): Change {
    return this.set('parked', JSON.stringify(question));
  }

  /** Whether the turn goes on waiting for a decision with this many messages behind its message in the lane. */
  staysParked(messagesBehind: number): boolean {
    const behindAtPark = this.number('parkedBehind');
    return behindAtPark !== undefined && messagesBehind <= behindAtPark && !this.fields.has('cancelled');
  }

  decisionOf(id: string): Decision | undefined {
    return this.json(`decided:${id}`);
  }

  /** Decides a question. Write these changes under the conditions of `expectUndecided`: only the first decision may count. */
  decide(id: string, decision: Decision, nowMs: number): Change[] {
    return [
      this.set(`decided:${id}`, JSON.stringify(decision), 'resumedAt', nowMs),
      this.unset('parkedUntil', 'parkedBehind'),
    ];
  }

  /** Conditions of a write: nobody has decided the question, and the message is neither cancelled nor concluded. */
  expectUndecided(id: string): Expected[] {
    return [
      [this.key, `decided:${id}`, ''],
      [this.key, 'cancelled', ''],
      [this.key, 'conclusion', ''],
    ];
  }

  /** Condition of a write: the turn's newest question is exactly this one. */
  expectNewest(question: ParkedQuestion): Expected {
    return [this.key, 'parked', JSON.stringify(question)];
  }

  /** The id of the Telegram message that shows the question, if known. */
  messageIdOf(id: string): number | undefined {
    return this.number(`asked:${id}`);
  }

  /** Whether the file with the arguments of the question's calls was sent. */
  hasFile(id: string): boolean {
    return this.fields.has(`askedFile:${id}`);
  }

  /** Marks the file as sent, so that no attempt sends it again. */
  markFileSent(id: string): Change {
    return this.set(`askedFile:${id}`, 1);
  }

  /** The id of the Telegram message that shows the open question; `undefined` if no question is open or the id is unknown. */
  get openMessageId(): number | undefined {
    return this.openQuestion && this.messageIdOf(this.openQuestion.id);
  }

  /** When the question was sent, by Redis' clock; undefined if no attempt has stored the time. */
  sentAtMs(id: string): number | undefined {
    return this.number(`askedAt:${id}`);
  }

  /** Marks the question as sent. Without a `messageId`, the result of the send is unknown. */
  markSent(id: string, messageId: number | undefined, atMs: number): Change {
    return this.set(...(messageId === undefined ? [] : [`asked:${id}`, messageId]), `askedAt:${id}`, atMs);
  }
}
