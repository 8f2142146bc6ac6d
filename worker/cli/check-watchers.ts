import type { Config } from '../../shared/base/config.ts';
import type { Finding } from './finding.ts';

const NO_SWITCH =
  'DEADMAN_URL is not set: if this gateway, its machine or its Redis dies, nobody is told, because nothing is alive to tell it. Make a check at a service that waits for a request a minute and alarms when none comes (as healthchecks.io, or one of your own), and put its address there';
const NO_SECOND =
  'ALERT_WEBHOOK_URL is not set: while Telegram is away or the bot is blocked, no alert reaches anybody. An address that takes {"text": …} will do, as incoming webhooks of Slack or Mattermost';
const NO_CHAT =
  'TELEGRAM_ALERT_CHAT_ID is none and ALERT_WEBHOOK_URL is not set: alerts are in the log alone, and nobody is told of anything';

/** Says what it means that nobody would hear of a dead gateway, or of trouble while Telegram is away. */
export function checkWatchers({
  DEADMAN_URL: deadMan,
  ALERT_WEBHOOK_URL: webhook,
  TELEGRAM_ALERT_CHAT_ID: chat,
}: Pick<Config, 'DEADMAN_URL' | 'ALERT_WEBHOOK_URL' | 'TELEGRAM_ALERT_CHAT_ID'>): Finding[] {
  return [
    advice('second channel', webhook === undefined ? (chat === undefined ? NO_CHAT : NO_SECOND) : undefined),
    advice("dead-man's switch", deadMan === undefined ? NO_SWITCH : undefined),
  ];
}

function advice(part: string, detail: string | undefined): Finding {
  return detail === undefined ? { part, ok: true, detail: 'is set' } : { part, ok: true, isAdvice: true, detail };
}
