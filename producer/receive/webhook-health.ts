import type { WebhookInfo } from '../../shared/telegram/client.ts';

/** What Telegram's word about the webhook comes to. */
export type WebhookState =
  /** Updates reach us, or there are none. */
  | 'delivers'
  /** Updates wait, and their deliveries fail. */
  | 'undelivered'
  /** Another URL is set, or none. */
  | 'taken';

/** One look at the webhook. */
export interface WebhookSight {
  info: WebhookInfo;
  state: WebhookState;
}

/**
 * Judges what Telegram says about our webhook, beside what it said before. Pure. The times that it states are only told
 * apart and never compared with a clock of ours: an error of a later time is news, and one of the same time is not.
 */
export function judge(info: WebhookInfo, url: string, before: WebhookSight | undefined): WebhookSight {
  return { info, state: stateOf(info, url, before) };
}

function stateOf(info: WebhookInfo, url: string, before: WebhookSight | undefined): WebhookState {
  if (!isSame(info.url, url)) return 'taken';
  // Telegram keeps the last error for a while after it is over.
  if (info.pending === 0 || info.lastError === undefined) return 'delivers';
  if (before === undefined || before.info.lastError?.atS !== info.lastError.atS) return 'undelivered';
  // Telegram tries again up to two minutes later, so no news is no good news; that fewer wait is.
  return info.pending < before.info.pending ? 'delivers' : before.state;
}

function isSame(told: string, ours: string): boolean {
  return URL.parse(told)?.href === ours;
}
