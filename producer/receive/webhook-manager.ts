import { pause, type Service } from '../../shared/base/lifecycle.ts';
import type { WebhookInfo } from '../../shared/telegram/client.ts';
import type { TelegramResult } from '../../shared/telegram/failure.ts';
import type { ProducerEnv } from '../env.ts';
import { runInTerms } from './lease.ts';
import { waitOut } from './poller.ts';

/** The URL for Telegram's deliveries, and the secret that proves that a delivery comes from Telegram. */
export interface WebhookAddress {
  url: string;
  secret: string;
}

/** A running keeper of the webhook. */
export interface WebhookKeeper extends Service {
  /** The time (`performance.now()`) of the last successful check; `undefined` before the first one. */
  lastAnswerMs(): number | undefined;
  /** Why the last check failed, or why deliveries do not arrive; `undefined` if neither is known. */
  trouble(): string | undefined;
}

const LOOK_EVERY_MS = 30_000;

/**
 * Sets the webhook, and regularly asks Telegram whether the webhook is still ours and whether deliveries arrive. Telegram's
 * answer is the receiver's sign of life. If the webhook is not ours or deliveries fail, the keeper sets the webhook again,
 * which repairs a URL or a secret that another process has set. Only the holder of the lease does this, because setting a
 * webhook during a deploy would end the polls of the process that still holds the lease.
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
  const keeping = runInTerms('webhook keeper', env, async (term, signal) => {
    // Each term begins by setting the webhook, because our URL in Telegram's report does not prove that our secret is set.
    let isSet = false;
    let lastCheck: WebhookCheck | undefined;
    let failures = 0;
    while (!signal.aborted) {
      // Setting the webhook ends every poll, so only the holder of the lease may set it.
      if (!(await term.renew())) return;
      const result = await checkWebhook(env, address, { isSet, lastCheck }, signal);
      if (signal.aborted || !term.isHeld()) return;
      if (!result.ok) {
        failures += 1;
        trouble = result.failure.description;
        env.heartbeat.failed(result.failure.kind);
        await waitOut(result.failure, failures, signal);
        continue;
      }
      failures = 0;
      lastCheck = result.value;
      lastAnswerMs = performance.now();
      trouble = lastCheck?.state === 'undelivered' ? lastCheck.info.lastError?.description : undefined;
      report(env, lastCheck);
      const wasSet = isSet;
      isSet = lastCheck?.state === 'delivers';
      if (isSet || !wasSet) await pause(lookEveryMs, signal);
    }
  });
  return { ...keeping, lastAnswerMs: () => lastAnswerMs, trouble: () => trouble };
}

/** Sets the webhook unless `isSet`, and checks its state. The value is `undefined` if the server does not report the state. */
async function checkWebhook(
  { telegram, log }: ProducerEnv,
  { url, secret }: WebhookAddress,
  { isSet, lastCheck }: { isSet: boolean; lastCheck: WebhookCheck | undefined },
  signal: AbortSignal,
): Promise<TelegramResult<WebhookCheck | undefined>> {
  const set = isSet ? undefined : await telegram.setWebhook(url, secret, signal);
  if (set && !set.ok) {
    log.warn({ failure: set.failure }, 'setWebhook failed');
    return set;
  }
  const info = await telegram.getWebhookInfo(signal);
  if (info.ok) return { ok: true, value: judge(info.value, url, lastCheck) };
  // This server has no getWebhookInfo. Its answer to setWebhook is the sign of life, so the next round sets the webhook again.
  if (info.failure.kind === 'not_offered') return { ok: true, value: undefined };
  log.warn({ failure: info.failure }, 'getWebhookInfo failed');
  return info;
}

function report({ heartbeat, log }: ProducerEnv, check: WebhookCheck | undefined): void {
  if (check?.state === 'taken') {
    // Log only the host, because the path of a URL may hold a secret.
    log.error(
      { host: URL.parse(check.info.url)?.host ?? 'none' },
      'the webhook was removed or replaced; it is set again',
    );
    heartbeat.failed('conflict');
  } else if (check?.state === 'undelivered') {
    const { pending, lastError } = check.info;
    log.warn({ pending, why: lastError?.description }, 'deliveries of Telegram do not arrive');
    heartbeat.failed('undelivered');
  } else heartbeat.answered();
}

/** The webhook's state according to Telegram. */
export type WebhookState =
  /** Deliveries arrive, as far as Telegram's report shows. */
  | 'delivers'
  /** Updates are pending, and their deliveries fail. */
  | 'undelivered'
  /** Another URL is set as the bot's webhook, or none is. */
  | 'taken';

interface WebhookCheck {
  info: WebhookInfo;
  state: WebhookState;
}

/**
 * Judges Telegram's current report on our webhook against the previous check. Compares Telegram's timestamps only with each
 * other, never with our clock: an error is new if its timestamp differs from the one in the previous report. Pure.
 */
export function judge(info: WebhookInfo, url: string, previous: WebhookCheck | undefined): WebhookCheck {
  return { info, state: stateOf(info, url, previous) };
}

function stateOf(info: WebhookInfo, url: string, previous: WebhookCheck | undefined): WebhookState {
  if (!isSame(info.url, url)) return 'taken';
  // Telegram continues to report the last error after deliveries have recovered.
  if (info.pending === 0 || info.lastError === undefined) return 'delivers';
  if (previous === undefined || previous.info.lastError?.atS !== info.lastError.atS) return 'undelivered';
  // Errors may be two minutes apart, so only a drop in the number of pending updates proves a delivery.
  return info.pending < previous.info.pending ? 'delivers' : previous.state;
}

function isSame(url: string, ours: string): boolean {
  return URL.parse(url)?.href === ours;
}
