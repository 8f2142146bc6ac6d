import type { WebhookInfo } from '../../shared/telegram/client.ts';

/** The webhook's state according to Telegram. */
export type WebhookState =
  /** Updates reach us, or there are none. */
  | 'delivers'
  /** Updates wait, and their deliveries fail. */
  | 'undelivered'
  /** Another URL is set, or none. */
  | 'taken';

/** The result of one webhook check. */
export interface WebhookSight {
  info: WebhookInfo;
  state: WebhookState;
}

/**
 * Judges Telegram's current report on our webhook against its previous one. Pure. Telegram's timestamps are only
 * compared with each other, never with our clock: an error with a later time is new, and one with the same time is not.
 */
export function judge(info: WebhookInfo, url: string, before: WebhookSight | undefined): WebhookSight {
  return { info, state: stateOf(info, url, before) };
}

function stateOf(info: WebhookInfo, url: string, before: WebhookSight | undefined): WebhookState {
  if (!isSame(info.url, url)) return 'taken';
  // Telegram keeps reporting the last error for a while after it is over.
  if (info.pending === 0 || info.lastError === undefined) return 'delivers';
  if (before === undefined || before.info.lastError?.atS !== info.lastError.atS) return 'undelivered';
  // Telegram retries for up to two minutes, so the absence of a new error proves nothing; a lower pending count does.
  return info.pending < before.info.pending ? 'delivers' : before.state;
}

function isSame(stated: string, ours: string): boolean {
  return URL.parse(stated)?.href === ours;
}
