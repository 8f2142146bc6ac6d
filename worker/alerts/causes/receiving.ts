import { inSeconds } from '../../../shared/base/text.ts';
import type { Receiver } from '../../../shared/state/process/receiver.ts';
import type { Rules } from '../causes.ts';
import type { Condition } from '../incident.ts';

/** Causes that concern the way of messages from Telegram to us. */
export const RECEIVING = {
  'no-poll': {
    severity: 'page',
    endsBy: 'watch',
  },
  'no-delivery': {
    severity: 'page',
    endsBy: 'watch',
  },
  conflict: {
    severity: 'page',
    endsBy: 'watch',
  },
  token: {
    severity: 'page',
    endsBy: 'watch',
  },
  'group-moved': {
    severity: 'attention',
    endsBy: 'fact',
    namesEach: true,
  },
} satisfies Rules;

/** No process polls Telegram, or no check finds a healthy webhook: Telegram reports trouble, or cannot be asked. */
export function notReceivingAlert(as: Receiver, ageMs: number, lastFailure: string | undefined): Condition {
  const isWebhook = as === 'webhook';
  const what = isWebhook ? 'The webhook shows no sign of life' : 'No poll has succeeded';
  const failure = lastFailure === undefined ? '' : ` The last failure was: ${lastFailure}.`;
  const text = `${what} for ${inSeconds(ageMs)}: messages stay with Telegram, which keeps them for 24 hours.${failure}`;
  return { cause: isWebhook ? 'no-delivery' : 'no-poll', text };
}

/** Updates come, and some of them cannot be stored. */
export function unstoredAlert(as: Receiver, ageMs: number): Condition {
  const text = `Messages arrive and cannot be stored, for ${inSeconds(ageMs)}: they stay with Telegram, which keeps them for 24 hours. The log has the error.`;
  return { cause: as === 'webhook' ? 'no-delivery' : 'no-poll', text };
}

/** A second receiver of the bot's messages: one that polls, or that has removed or replaced our webhook. */
export function conflictAlert(as: Receiver, ageMs: number): Condition {
  const ago = `${inSeconds(ageMs)} ago`;
  const taken = `Our webhook was removed or replaced (${ago}): another process receives with the same token. It was set again. Messages may have been taken by the other one.`;
  const refused = `Telegram refuses our polls (409, ${ago}): another process polls with the same token, or a webhook is set. Messages may be taken by the other one.`;
  return { cause: 'conflict', text: as === 'webhook' ? taken : refused };
}

/** A bot token that Telegram rejects. */
export function tokenAlert(ageMs: number): Condition {
  return {
    cause: 'token',
    text: `The bot token is not accepted (${inSeconds(ageMs)} ago): nothing can be received or sent.`,
  };
}
