import { inSeconds } from '../../../shared/base/text.ts';
import type { Receiver } from '../../../shared/state/process/receiver.ts';
import type { Condition, Rules } from './words.ts';

/** Causes about receiving messages from Telegram. */
export const RECEIVING = {
  'no-poll': {
    severity: 'page',
    title: 'No process polls Telegram',
    todo: 'Check the producer and its connection to TELEGRAM_API_ROOT.',
    endsBy: 'watch',
    end: 'Telegram is polled again.',
    follows: ['telegram', 'token', 'memory', 'persistence'],
  },
  'no-delivery': {
    severity: 'page',
    title: 'The webhook receives nothing',
    todo: 'Check TELEGRAM_WEBHOOK_URL from outside.',
    endsBy: 'watch',
    end: 'the webhook receives messages again.',
    follows: ['telegram', 'token', 'memory', 'persistence'],
  },
  conflict: {
    severity: 'page',
    title: 'Another process receives with the same token',
    todo: 'Stop it, or revoke the token with BotFather.',
    endsBy: 'watch',
    end: 'no other process receives with the same token any more.',
  },
  token: {
    severity: 'page',
    title: 'The bot token is not accepted',
    todo: 'Set TELEGRAM_BOT_TOKEN to the one that BotFather shows.',
    endsBy: 'watch',
    end: 'the bot token is accepted again.',
  },
  'group-moved': {
    severity: 'attention',
    title: 'Groups have new ids',
    todo: 'Write the new ids where the old ones stand in the settings, such as TELEGRAM_ALLOWED_IDS.',
    endsBy: 'fact',
    namesEach: true,
  },
} satisfies Rules;

/** The condition that no poll succeeds, or that no check finds a healthy webhook. */
export function notReceivingAlert(as: Receiver, ageMs: number, lastFailure: string | undefined): Condition {
  const isWebhook = as === 'webhook';
  const what = isWebhook ? 'The webhook shows no sign of life' : 'No poll has succeeded';
  const failure = lastFailure === undefined ? '' : ` The last failure was: ${lastFailure}.`;
  const text = `${what} for ${inSeconds(ageMs)}: messages stay with Telegram, which keeps them for 24 hours.${failure}`;
  return { cause: isWebhook ? 'no-delivery' : 'no-poll', text };
}

/** The condition that updates arrive but some of them cannot be stored. */
export function unstoredAlert(as: Receiver, ageMs: number): Condition {
  const text = `Messages arrive and cannot be stored, for ${inSeconds(ageMs)}: they stay with Telegram, which keeps them for 24 hours. The log has the error.`;
  return { cause: as === 'webhook' ? 'no-delivery' : 'no-poll', text };
}

/** The condition that another process receives the bot's messages: it polls, or has removed or replaced the webhook. */
export function conflictAlert(as: Receiver, ageMs: number): Condition {
  const ago = `${inSeconds(ageMs)} ago`;
  const webhookText = `Our webhook was removed or replaced (${ago}): another process receives with the same token. It was set again. Messages may have been taken by the other one.`;
  const pollingText = `Telegram refuses our polls (409, ${ago}): another process polls with the same token, or a webhook is set. Messages may be taken by the other one.`;
  return { cause: 'conflict', text: as === 'webhook' ? webhookText : pollingText };
}

/** The condition that Telegram rejects the bot token. */
export function tokenAlert(ageMs: number): Condition {
  return {
    cause: 'token',
    text: `The bot token is not accepted (${inSeconds(ageMs)} ago): nothing can be received or sent.`,
  };
}
