import { durationInWords } from '../../../shared/base/text.ts';
import type { Stranger } from '../../../shared/state/pairing/strangers.ts';
import type { Receiver } from '../../../shared/state/process/receiver.ts';
import type { Condition, Rules } from './words.ts';

/** Texts for the trouble that updates arrive but cannot be stored. */
const UNSTORED = {
  title: 'Messages arrive but cannot be stored',
  todo: 'Check Redis: its memory, its disk, and the network to it.',
};

/** Causes about receiving messages from Telegram, and about who may write. */
export const RECEIVING = {
  'no-poll': {
    severity: 'page',
    title: 'No message arrives: no process polls Telegram',
    todo: 'Check that a producer runs, and that it can reach TELEGRAM_API_ROOT.',
    endsBy: 'watch',
    end: 'messages are arriving again.',
    follows: ['telegram', 'token', 'memory', 'persistence'],
    levels: { unstored: UNSTORED },
  },
  'no-delivery': {
    severity: 'page',
    title: 'No message arrives: Telegram does not reach the webhook',
    todo: 'Open TELEGRAM_WEBHOOK_URL from outside your network; check DNS, certificate and firewall.',
    endsBy: 'watch',
    end: 'messages are arriving again.',
    follows: ['telegram', 'token', 'memory', 'persistence'],
    levels: { unstored: UNSTORED },
  },
  conflict: {
    severity: 'page',
    title: 'Messages may be lost: another program uses the bot token',
    todo: 'Stop the other program, or revoke the token in @BotFather and set TELEGRAM_BOT_TOKEN to the new one.',
    endsBy: 'watch',
    end: 'no other program uses the bot token.',
  },
  token: {
    severity: 'page',
    title: 'Nothing can be received or sent: Telegram rejects the bot token',
    todo: 'Set TELEGRAM_BOT_TOKEN to the token that BotFather shows, and restart.',
    endsBy: 'watch',
    end: 'Telegram accepts the bot token again.',
  },
  'group-moved': {
    severity: 'attention',
    title: 'Telegram has given groups new ids',
    todo: 'Replace the old ids in the settings, such as TELEGRAM_ALLOWED_IDS.',
    endsBy: 'fact',
    namesEach: true,
  },
  pairing: {
    severity: 'info',
    title: 'Somebody asks to use the bot',
    todo: 'If you know them, press “Allow”; they then have to write again. The request ends after an hour.',
    endsBy: 'watch',
    end: 'this request needs no decision any more.',
    acts: ['allow', 'ignore'],
  },
} satisfies Rules;

/** The condition that a stranger waits to be let in. `name`: the person's name without special characters. */
export function knockAlert({ id, username, code, atMs }: Stranger, name: string): Condition {
  const person = `${name} (${username ? `@${username}, ` : ''}id ${id})`;
  const text = `${person} wrote to the bot in private, and was given the code ${code}.`;
  return { cause: 'pairing', key: id, text, sinceMs: atMs };
}

/** The condition that nothing is received: for `ageMs`, no poll has succeeded, or no check has found a healthy webhook. */
export function notReceivingAlert(as: Receiver, ageMs: number, lastFailure: string | undefined): Condition {
  const isWebhook = as === 'webhook';
  const what = isWebhook ? 'The webhook has received nothing' : 'No poll has succeeded';
  const failure = lastFailure === undefined ? '' : ` The last failure was: ${lastFailure}.`;
  const text = `${what} for ${durationInWords(ageMs)}. Telegram keeps new messages for 24 hours.${failure}`;
  return { cause: isWebhook ? 'no-delivery' : 'no-poll', level: '', text };
}

/** The condition that updates arrive but some of them cannot be stored. */
export function unstoredAlert(as: Receiver, ageMs: number): Condition {
  const text = `For ${durationInWords(ageMs)}, messages have arrived that cannot be stored. Telegram keeps them for 24 hours. The log has the error.`;
  return { cause: as === 'webhook' ? 'no-delivery' : 'no-poll', level: 'unstored', text };
}

/** The condition that another program receives the bot's messages: it polls, or has set, replaced or removed a webhook. */
export function conflictAlert(as: Receiver, ageMs: number): Condition {
  const ago = `${durationInWords(ageMs)} ago`;
  const webhookText = `Another program removed or replaced our webhook ${ago}. Spillway has set it again. The other program may have taken messages.`;
  const pollingText = `Telegram refused our poll ${ago} (409): another program polls with the bot token, or has set a webhook. It may take messages.`;
  return { cause: 'conflict', text: as === 'webhook' ? webhookText : pollingText };
}

/** The condition that Telegram rejects the bot token. */
export function tokenAlert(ageMs: number): Condition {
  return {
    cause: 'token',
    text: `Telegram rejected the bot token ${durationInWords(ageMs)} ago. New messages stay with Telegram for 24 hours.`,
  };
}
