import { counted, inSeconds } from '../../../shared/base/text.ts';
import { type Alert, whereOf } from '../../../shared/flow/alert.ts';
import type { Turn } from '../../../shared/state/turn/turn.ts';
import type { TelegramFailure } from '../../../shared/telegram/failure.ts';
import type { Condition, Rules } from './words.ts';

/** Causes that concern the way of a reply to its chat, and long waits on it. */
export const TELEGRAM = {
  telegram: {
    severity: 'page',
    title: 'Telegram does not answer',
    todo: 'Check the network and TELEGRAM_API_ROOT. Finished answers wait for a day, in order.',
    endsBy: 'watch',
    end: 'Telegram answers again; what waited is sent in order.',
    namesEach: true,
    acts: ['promote', 'deliver'],
  },
  undeliverable: {
    severity: 'info',
    title: 'Replies could not be delivered',
    todo: '“Deliver again” delivers the answers without asking the model again.',
    endsBy: 'quiet',
    end: 'no more replies are undeliverable.',
    follows: ['telegram', 'token'],
    namesEach: true,
    acts: ['deliver', 'close'],
  },
  unsure: {
    severity: 'info',
    title: 'Parts of replies may be missing',
    todo: 'They were sent twice, and Telegram did not say whether it took them. Their users may have to ask again.',
    endsBy: 'quiet',
    end: 'sends are confirmed again.',
    follows: ['telegram'],
    namesEach: true,
  },
  'long-wait': {
    severity: 'attention',
    title: 'Telegram or the model asks for long waits',
    todo: 'The model: look at the limits of the account, and at the proxy in front of it. Telegram: look at what else sends with this token.',
    endsBy: 'quiet',
    end: 'no more long waits are asked for.',
    follows: ['provider', 'telegram'],
  },
} satisfies Rules;

/** A conclusion that Telegram rejects: only the operator can be notified. */
export function undeliverableAlert(turn: Turn, why: string): Alert {
  return {
    cause: 'undeliverable',
    ...whereOf(turn),
    text: `A reply could not be delivered (${why}).`,
  };
}

/** A finished reply that nobody refused, and that could not be delivered all the same. */
export function undeliveredAlert(turn: Turn, why: string): Alert {
  return {
    cause: 'undeliverable',
    ...whereOf(turn),
    text: `A finished reply was not delivered (${why}). It is kept as a dead letter, and is delivered without asking the model again.`,
  };
}

/** A finished reply that has waited for a Telegram that is away for as long as it may. */
export function telegramAwayAlert(turn: Turn, waitedMs: number, { kind, description }: TelegramFailure): Alert {
  const waited = counted(Math.round(waitedMs / 60_000), 'minute');
  return {
    cause: 'telegram',
    ...whereOf(turn),
    text: `A finished reply has waited ${waited} for Telegram: its user knows nothing of it (${kind}: ${description}). It is kept as a dead letter.`,
  };
}

/** Telegram, or the model endpoint, asks for a wait that people notice. */
export function longWaitAlert(turn: Turn, asker: 'telegram' | 'model', askedMs: number): Alert {
  const wait = counted(Math.round(askedMs / 60_000), 'minute');
  const text =
    asker === 'telegram'
      ? `Telegram asks to leave a chat alone for ${wait}. That is obeyed: nothing is sent there until then.`
      : `The model endpoint asks for a wait of ${wait}. Waits are obeyed up to an hour: this message is tried again by our own growing waits.`;
  return {
    cause: 'long-wait',
    key: asker,
    ...whereOf(turn),
    text,
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

/** A part whose repeat got no word from Telegram either. */
export function unsureAlert(turn: Turn): Alert {
  return {
    cause: 'unsure',
    ...whereOf(turn),
    text: `A part of a reply may be missing: it was sent and repeated, and Telegram said neither time whether it took it. The user may have to ask again.`,
  };
}
