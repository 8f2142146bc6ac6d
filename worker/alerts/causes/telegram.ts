import { counted, durationInWords } from '../../../shared/base/text.ts';
import { type Alert, whereOf } from '../../../shared/flow/alert.ts';
import type { Turn } from '../../../shared/state/turn/turn.ts';
import type { TelegramFailure } from '../../../shared/telegram/failure.ts';
import type { Condition, Rules } from './words.ts';

/** Causes about delivering replies, and about long waits that Telegram or the model demands. */
export const TELEGRAM = {
  telegram: {
    severity: 'page',
    title: 'Answers cannot be sent: Telegram does not respond',
    todo: 'Check the network and TELEGRAM_API_ROOT. Finished answers wait in order, for up to a day.',
    endsBy: 'watch',
    end: 'Telegram answers again, and the waiting answers are sent in order.',
    namesEach: true,
    acts: ['promote', 'deliver'],
  },
  undeliverable: {
    severity: 'info',
    title: 'Answers could not be delivered',
    todo: '“Deliver again” sends them without asking the model again.',
    endsBy: 'quiet',
    end: 'no more deliveries failed.',
    follows: ['telegram', 'token'],
    namesEach: true,
    acts: ['deliver', 'close'],
  },
  unsure: {
    severity: 'info',
    title: 'Parts of answers may be missing',
    todo: 'Nothing to do: the users may have to ask again.',
    endsBy: 'quiet',
    end: 'Telegram confirms all messages again.',
    follows: ['telegram'],
    namesEach: true,
  },
  'long-wait': {
    severity: 'attention',
    title: 'Answers are late: Telegram or the model asks for long waits',
    todo: 'For the model: check the rate limits of the account and of the proxy. For Telegram: check what else uses the bot token.',
    endsBy: 'quiet',
    end: 'nobody asks for long waits any more.',
    follows: ['provider', 'telegram'],
  },
} satisfies Rules;

/** The alert that a reply cannot be delivered, because Telegram rejects it or the bot was blocked or removed. */
export function undeliverableAlert(turn: Turn, why: string): Alert {
  return {
    cause: 'undeliverable',
    ...whereOf(turn),
    text: `An answer could not be delivered (${why}).`,
  };
}

/** The alert that a finished reply was not delivered, because every try threw an error. */
export function undeliveredAlert(turn: Turn, why: string): Alert {
  return {
    cause: 'undeliverable',
    ...whereOf(turn),
    text: `A finished answer was not delivered (${why}). It is kept as a dead letter.`,
  };
}

/** The alert that a finished reply has waited for Telegram for the longest permitted time, and is now a dead letter. */
export function telegramAwayAlert(turn: Turn, waitedMs: number, { kind, description }: TelegramFailure): Alert {
  const duration = durationInWords(waitedMs);
  return {
    cause: 'telegram',
    ...whereOf(turn),
    text: `A finished answer waited ${duration} for Telegram (${kind}: ${description}), and its user has not received it. It is kept as a dead letter.`,
  };
}

/** The alert raised when Telegram or the model endpoint asks for a wait so long that users notice it. */
export function longWaitAlert(turn: Turn, asker: 'telegram' | 'model', waitMs: number): Alert {
  const wait = durationInWords(waitMs);
  const text =
    asker === 'telegram'
      ? `Telegram asks Spillway to send nothing to a chat for ${wait}. Its answers wait until then.`
      : `The model endpoint asks for a wait of ${wait}. Spillway waits an hour at most, so it tries this message earlier.`;
  return {
    cause: 'long-wait',
    key: asker,
    ...whereOf(turn),
    text,
  };
}

/** The condition that Telegram does not answer. `waiting` counts all waiting messages, `answers` only finished answers. */
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
    text: `Telegram has not answered for ${durationInWords(lastsMs)} (${why}). Waiting to be sent: ${answersInWords}. Waiting to be answered: ${othersInWords}.`,
    messages: answers,
    chats,
    sinceMs,
  };
}

/** The alert that Telegram confirmed neither the first send of a part nor the repeated send. */
export function unsureAlert(turn: Turn): Alert {
  return {
    cause: 'unsure',
    ...whereOf(turn),
    text: `A part of an answer was sent twice, and Telegram confirmed neither. The user may not have it.`,
  };
}
