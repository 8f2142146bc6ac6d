import type { ReachFailpoint } from '../../shared/failpoint.ts';
import type { Destination, Telegram, TelegramFailure } from '../../shared/telegram.ts';
import { METRIC, type Telemetry } from '../../shared/telemetry.ts';
import type { Attempt, Command, Conclusion, PartMark } from '../attempt.ts';

export interface OutboxParts {
  telegram: Telegram;
  telemetry: Telemetry;
  reach: ReachFailpoint;
}

/** What delivering came to. */
export type Delivery =
  | { state: 'delivered' }
  /** Not now: Telegram is away or asks to wait. The parts that were sent stay marked. */
  | { state: 'later'; failure: TelegramFailure }
  /** Never: the chat is gone or Telegram refuses the text. */
  | { state: 'undeliverable'; failure: TelegramFailure };

/**
 * Sends the parts of a conclusion, in order. Each is marked `sending` before and `sent` after, so that a crash in
 * between is known as a send of unknown result: such a part is sent again at most once, and counted. Contract: throws
 * `FencedError`, or what Redis throws. The first part of a new conclusion was marked when the conclusion was stored.
 */
export async function deliver(
  parts: OutboxParts,
  attempt: Attempt,
  conclusion: Conclusion,
  to: Destination,
  isNew: boolean,
): Promise<Delivery> {
  const last = conclusion.parts.length - 1;
  for (const [index, text] of conclusion.parts.entries()) {
    const before = isNew && index === 0 ? undefined : attempt.part(index);
    if (before === 'sent') continue;
    if (before === 'resent') {
      parts.telemetry.count(METRIC.unknownSends, { resent: true });
      continue;
    }
    if (before === 'sending') parts.telemetry.count(METRIC.unknownSends, { resent: false });
    const marked = isNew && index === 0;
    if (!marked) await attempt.write('', [mark(attempt, index, before === 'sending' ? 'resent' : 'sending')]);
    const sent = await parts.telegram.sendMessage(to, text);
    if (!sent.ok) return failed(attempt, index, before, sent.failure);
    parts.reach('part sent');
    // The last part needs no mark of its own: settling says that all of it was sent.
    if (index < last) await attempt.write('', [mark(attempt, index, 'sent')]);
    parts.reach('part marked');
  }
  return { state: 'delivered' };
}

/** The command that marks the first part of a conclusion as being sent. */
export function markFirst(attempt: Attempt): Command {
  return mark(attempt, 0, 'sending');
}

/** The command that marks a part as sent, for work between the reply and the settling. */
export function markSent(attempt: Attempt, index: number): Command {
  return mark(attempt, index, 'sent');
}

async function failed(
  attempt: Attempt,
  index: number,
  before: PartMark | undefined,
  failure: TelegramFailure,
): Promise<Delivery> {
  if (failure.kind === 'gone' || failure.kind === 'rejected') return { state: 'undeliverable', failure };
  // Only a send whose result is unknown keeps its mark; the others surely sent nothing.
  if (failure.kind !== 'unknown') await attempt.write('', [unmark(attempt, index, before)]);
  return { state: 'later', failure };
}

function mark(attempt: Attempt, index: number, value: PartMark): Command {
  return ['HSET', attempt.keys.turn(attempt.entry), `part:${index}`, value];
}

function unmark(attempt: Attempt, index: number, before: PartMark | undefined): Command {
  if (before !== undefined) return mark(attempt, index, before);
  return ['HDEL', attempt.keys.turn(attempt.entry), `part:${index}`];
}
