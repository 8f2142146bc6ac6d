import { counted, inSeconds } from '../../../shared/base/text.ts';
import { type Alert, whereOf } from '../../../shared/flow/alert.ts';
import type { Turn } from '../../../shared/state/turn/turn.ts';
import type { TelegramFailure } from '../../../shared/telegram/failure.ts';
import type { Condition, Rules } from './words.ts';

/** Causes about delivering replies, and about long waits for Telegram or the model. */
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

/** The alert that Telegram rejects a reply, so that the user gets nothing. */
export function undeliverableAlert(turn: Turn, why: string): Alert {
  return {
    cause: 'undeliverable',
    ...whereOf(turn),
    text: `A reply could not be delivered (${why}).`,
  };
}

/** The alert that a finished reply was not delivered, although Telegram did not refuse it. */
export function undeliveredAlert(turn: Turn, why: string): Alert {
  return {
    cause: 'undeliverable',
    ...whereOf(turn),
    text: `A finished reply was not delivered (${why}). It is kept as a dead letter, and is delivered without asking the model again.`,
  };
}

/** The alert that a finished reply has waited as long as it may for Telegram to answer. */
export function telegramAwayAlert(turn: Turn, waitedMs: number, { kind, description }: TelegramFailure): Alert {
  const duration = counted(Math.round(waitedMs / 60_000), 'minute');
  return {
    cause: 'telegram',
    ...whereOf(turn),
    text: `A finished reply has waited ${duration} for Telegram: its user knows nothing of it (${kind}: ${description}). It is kept as a dead letter.`,
  };
}

/** The alert that Telegram or the model endpoint asks for a wait that users notice. */
export function longWaitAlert(turn: Turn, asker: 'telegram' | 'model', waitMs: number): Alert {
  const wait = counted(Math.round(waitMs / 60_000), 'minute');
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

/** The condition that Telegram does not answer. `waiting` counts all waiting messages, `answers` the finished answers. */
export function telegramAlert(away: {
  sinceMs: number;
  lastsMs: number;
  why: string;
  answers: number;
  chats: number;
  waiting: number;
}): Condition {
  const { sinceMs, lastsMs, why, answers, chats, waiting } = away;
  const answersInWords = `${counted(answers, 'finished answer')} of ${counted(chats, 'chat')}`;
  const othersInWords = counted(Math.max(0, waiting - answers), 'further message');
  return {
    cause: 'telegram',
    text: `Telegram has not answered for ${inSeconds(lastsMs)} (${why}). Waiting: ${answersInWords}, and ${othersInWords}, for which the model is not asked meanwhile.`,
    messages: answers,
    chats,
    sinceMs,
  };
}

/** The alert that Telegram confirmed neither the first send of a part nor its repeat. */
export function unsureAlert(turn: Turn): Alert {
  return {
    cause: 'unsure',
    ...whereOf(turn),
    text: `A part of a reply may be missing: it was sent and repeated, and Telegram said neither time whether it took it. The user may have to ask again.`,
  };
}
