import { traceIdOf } from '../../../shared/base/telemetry.ts';
import { counted, inSeconds } from '../../../shared/base/text.ts';
import { type Alert, whereOf } from '../../../shared/flow/alert.ts';
import type { EntryId } from '../../../shared/redis/keys.ts';
import type { TelegramFailure } from '../../../shared/telegram/failure.ts';
import type { Attempt } from '../../lane/attempt.ts';
import type { Rules } from '../causes.ts';
import type { Condition } from '../incident.ts';

/** Causes that concern the way of a reply to its chat, and long waits on it. */
export const TELEGRAM = {
  telegram: {
    severity: 'page',
    endsBy: 'watch',
    namesEach: true,
    acts: ['promote', 'deliver'],
  },
  undeliverable: {
    severity: 'info',
    endsBy: 'quiet',
    namesEach: true,
    acts: ['deliver', 'close'],
  },
  unsure: {
    severity: 'info',
    endsBy: 'quiet',
    namesEach: true,
  },
  'long-wait': {
    severity: 'attention',
    endsBy: 'quiet',
  },
} satisfies Rules;

function keptAs(entry: EntryId): string {
  return `It is kept as a dead letter: "npm run cli -- retry ${entry}", or /retry in the chat, goes on with it; an answer is delivered without asking the model again.`;
}

/** A conclusion that Telegram rejects: only the operator can be notified. */
export function undeliverableAlert(attempt: Attempt, why: string): Alert {
  return {
    cause: 'undeliverable',
    ...whereOf(attempt),
    text: `A reply could not be delivered (${why}). Chat ${attempt.chat}, entry ${attempt.entry}. Trace ${traceIdOf(attempt.traceparent)}`,
  };
}

/** A finished reply that nobody refused, and that could not be delivered all the same. */
export function undeliveredAlert(attempt: Attempt, why: string): Alert {
  return {
    cause: 'undeliverable',
    ...whereOf(attempt),
    text: `A finished reply was not delivered (${why}). Chat ${attempt.chat}, entry ${attempt.entry}. ${keptAs(attempt.entry)} Trace ${traceIdOf(attempt.traceparent)}`,
  };
}

/** A finished reply that has waited for a Telegram that is away for as long as it may. */
export function telegramAwayAlert(attempt: Attempt, waitedMs: number, { kind, description }: TelegramFailure): Alert {
  const waited = counted(Math.round(waitedMs / 60_000), 'minute');
  return {
    cause: 'telegram',
    ...whereOf(attempt),
    text: `A finished reply has waited ${waited} for Telegram (TELEGRAM_PATIENCE_MS) and is not tried any more; its user was not told (${kind}: ${description}). Chat ${attempt.chat}, entry ${attempt.entry}. ${keptAs(attempt.entry)} Trace ${traceIdOf(attempt.traceparent)}`,
  };
}

/** Telegram, or the model endpoint, asks for a wait that people notice. */
export function longWaitAlert(attempt: Attempt, asker: 'telegram' | 'model', askedMs: number): Alert {
  const wait = counted(Math.round(askedMs / 60_000), 'minute');
  const said =
    asker === 'telegram'
      ? `Telegram asks to leave a chat alone for ${wait}. That is obeyed: nothing is sent there until then`
      : `The model endpoint asks for a wait of ${wait}. Waits are obeyed up to an hour: this message is tried again by our own growing waits`;
  return {
    cause: 'long-wait',
    key: asker,
    ...whereOf(attempt),
    text: `${said}. Chat ${attempt.chat}, entry ${attempt.entry}. Trace ${traceIdOf(attempt.traceparent)}`,
  };
}

/** A Telegram that does not answer. `answers` of all that waits are finished. */
export function telegramAlert(away: {
  sinceMs: number;
  lastsMs: number;
  why: string;
  answers: number;
  chats: number;
  waiting: number;
}): Condition {
  const { sinceMs, lastsMs, why, answers, chats, waiting } = away;
  const finished = `${counted(answers, 'finished answer')} of ${counted(chats, 'chat')}`;
  const further = counted(Math.max(0, waiting - answers), 'further message');
  return {
    cause: 'telegram',
    text: `Telegram has not answered for ${inSeconds(lastsMs)} (${why}). Waiting: ${finished}, and ${further}, for which the model is not asked meanwhile.`,
    messages: answers,
    chats,
    sinceMs,
  };
}

/** A text whose repeat got no word from Telegram either, although it confirmed other messages. */
export function unsureAlert(attempt: Attempt): Alert {
  return {
    cause: 'unsure',
    ...whereOf(attempt),
    text: `A part of a reply may be missing: it was sent and repeated, and Telegram, which confirmed other messages meanwhile, said neither time whether it took it. Chat ${attempt.chat}, entry ${attempt.entry}. The user may have to ask again. Trace ${traceIdOf(attempt.traceparent)}`,
  };
}
