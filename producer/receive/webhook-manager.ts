import { pause, type Service } from '../../shared/base/lifecycle.ts';
import type { WebhookInfo } from '../../shared/telegram/client.ts';
import type { TelegramResult } from '../../shared/telegram/failure.ts';
import type { ProducerEnv } from '../env.ts';
import { duringTerms } from './lease.ts';
import { waitOut } from './poller.ts';

/** Where Telegram is to deliver, and what proves that a delivery is Telegram's. */
export interface WebhookAddress {
  url: string;
  secret: string;
}

/** A running keeper of the webhook. */
export interface WebhookKeeper extends Service {
  /** When Telegram last answered, by `performance.now()`. */
  lastAnswerMs(): number | undefined;
  /**
   * Why the webhook is not set or its deliveries do not arrive, in Telegram's words; `undefined` when it is healthy.
   */
  trouble(): string | undefined;
}

const LOOK_EVERY_MS = 30_000;

/**
 * Sets the webhook and looks after it. It regularly asks Telegram whether the webhook is still ours and whether
 * deliveries arrive; this is the sign of life that a poller has in its polls. When either check fails, it sets the
 * webhook again: that changes nothing where all is well, and it fixes a URL or a secret that another process has set.
 * Only the holder of the lease does: it must not cut off a poller while a deploy is still in progress.
 *
 * The webhook stays set when the keeper stops. Telegram keeps undelivered updates for 24 hours.
 */
export function startWebhookKeeper(
  env: ProducerEnv,
  address: WebhookAddress,
  lookEveryMs = LOOK_EVERY_MS,
): WebhookKeeper {
  let lastAnswerMs: number | undefined;
  let trouble: string | undefined;
  const keeping = duringTerms('webhook keeper', env, async (term, signal) => {
    // Each term begins by setting the webhook: a URL that is ours does not prove that the secret is.
    let isSet = false;
    let sight: WebhookSight | undefined;
    let failures = 0;
    while (!signal.aborted) {
      // Setting the webhook ends every poll, which only the holder may do.
      if (!(await term.renew())) return;
      const looked = await look(env, address, { isSet, sight }, signal);
      if (signal.aborted || !term.isHeld()) return;
      if (!looked.ok) {
        failures += 1;
        trouble = looked.failure.description;
        env.heartbeat.failed(looked.failure.kind);
        await waitOut(looked.failure, failures, signal);
        continue;
      }
      failures = 0;
      sight = looked.value;
      lastAnswerMs = performance.now();
      trouble = sight?.state === 'undelivered' ? sight.info.lastError?.description : undefined;
      report(env, sight);
      const wasSet = isSet;
      isSet = sight?.state === 'delivers';
      if (isSet || !wasSet) await pause(lookEveryMs, signal);
    }
  });
  return { ...keeping, lastAnswerMs: () => lastAnswerMs, trouble: () => trouble };
}

/** Sets the webhook if necessary, and checks its state; `undefined` where the server does not report it. */
async function look(
  { telegram, log }: ProducerEnv,
  { url, secret }: WebhookAddress,
  { isSet, sight }: { isSet: boolean; sight: WebhookSight | undefined },
  signal: AbortSignal,
): Promise<TelegramResult<WebhookSight | undefined>> {
  const set = isSet ? undefined : await telegram.setWebhook(url, secret, signal);
  if (set && !set.ok) {
    log.warn({ failure: set.failure }, 'setWebhook failed');
    return set;
  }
  const info = await telegram.getWebhookInfo(signal);
  if (info.ok) return { ok: true, value: judge(info.value, url, sight) };
  // The server accepted the webhook, and that is the sign of life; the next round sets it again.
  if (info.failure.kind === 'not_offered') return { ok: true, value: undefined };
  log.warn({ failure: info.failure }, 'getWebhookInfo failed');
  return info;
}

function report({ heartbeat, log }: ProducerEnv, sight: WebhookSight | undefined): void {
  if (sight?.state === 'taken') {
    // The path of a URL may hold a secret, so only the host is logged.
    log.error(
      { host: URL.parse(sight.info.url)?.host ?? 'none' },
      'the webhook was removed or replaced; it is set again',
    );
    heartbeat.failed('conflict');
  } else if (sight?.state === 'undelivered') {
    const { pending, lastError } = sight.info;
    log.warn({ pending, why: lastError?.description }, 'deliveries of Telegram do not arrive');
    heartbeat.failed('undelivered');
  } else heartbeat.answered();
}

/** The webhook's state according to Telegram. */
export type WebhookState =
  /** Updates reach us, or there are none. */
  | 'delivers'
  /** Updates wait, and their deliveries fail. */
  | 'undelivered'
  /** Another URL is set, or none. */
  | 'taken';

/** The result of one webhook check. */
interface WebhookSight {
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
