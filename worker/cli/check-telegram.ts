import type { Settings } from '../../shared/base/settings.ts';
import { counted } from '../../shared/base/text.ts';
import { type BotProfile, createTelegram, type WebhookInfo } from '../../shared/telegram/client.ts';
import { type CheckContext, type Finding, failed, passed, withAdvice } from './finding.ts';

const TELEGRAM_DEADLINE_MS = 10_000;

const clientOf = ({ TELEGRAM_BOT_TOKEN: token, TELEGRAM_API_ROOT: apiRoot }: Settings) =>
  createTelegram({ token, apiRoot });

/** Checks the bot's token. Reports how messages arrive, which group messages the bot sees, and whether guest mode is on. */
export async function checkBot({ settings }: CheckContext): Promise<Finding[]> {
  const telegram = clientOf(settings);
  const me = await telegram.getMe();
  if (!me.ok) {
    const { kind, description } = me.failure;
    const what = kind === 'unauthorized' ? 'TELEGRAM_BOT_TOKEN is not accepted' : 'TELEGRAM_API_ROOT cannot be reached';
    return [failed('telegram', `${what} (${description})`)];
  }
  const webhook = await telegram.getWebhookInfo(AbortSignal.timeout(TELEGRAM_DEADLINE_MS));
  const receiving = receivingOf(settings, webhook.ok ? webhook.value : undefined);
  return [
    passed('telegram', `the bot is @${me.value.username}; ${receiving}`),
    groupsOf(settings, me.value),
    ...guestsOf(settings, me.value),
  ];
}

/** Reports which group messages the bot sees, and whether the settings need it to see more. */
function groupsOf(
  { TELEGRAM_ANSWER_ALL_IDS: all }: Settings,
  { can_read_all_group_messages: readsAll }: BotProfile,
): Finding {
  if (readsAll === true)
    return passed('groups', 'the bot sees every message of its groups, and answers those that are addressed to it');
  const privacy = 'privacy mode is on: the bot sees commands and replies to it, but no mentions';
  const advice = 'send /setprivacy to BotFather, then remove it from the group and add it again';
  if (all !== 'everyone' && all.size === 0) return passed('groups', privacy);
  return withAdvice('groups', `${privacy}, and TELEGRAM_ANSWER_ALL_IDS has no effect: ${advice}`);
}

/** Reports whether guest mode is on in BotFather, if `TELEGRAM_GUESTS` is set. */
function guestsOf({ TELEGRAM_GUESTS: guests }: Settings, { supports_guest_queries: isOn }: BotProfile): Finding[] {
  if (guests.size === 0) return [];
  const who = `${counted(guests.size, 'person', 'people')} may call the bot in chats that it is not part of`;
  return [isOn === false ? withAdvice('guests', `${who}, but guest mode is off in BotFather`) : passed('guests', who)];
}

/** Sends "typing…" to the operators' chat. This leaves no message there, and fails if a message would fail. */
export async function checkAlerts({ settings }: CheckContext): Promise<Finding[]> {
  const { TELEGRAM_ALERT_CHAT_ID: chatId } = settings;
  if (chatId === undefined) return [passed('alerts', 'TELEGRAM_ALERT_CHAT_ID is none: no chat gets them')];
  const result = await clientOf(settings).sendTyping({ chatId });
  if (result.ok) return [passed('alerts', "the operator's chat can be written to")];
  const { kind, description } = result.failure;
  return [failed('alerts', `TELEGRAM_ALERT_CHAT_ID cannot be written to (${kind}: ${description})`)];
}

/** The way in which messages will arrive, and the change that a start will make to it. */
function receivingOf({ TELEGRAM_WEBHOOK_URL: url }: Settings, webhook: WebhookInfo | undefined): string {
  const isOther = webhook !== undefined && URL.parse(webhook.url)?.href !== url;
  if (url === undefined)
    return isOther ? 'it will be polled, and a webhook that is set will be removed' : 'it is polled';
  if (isOther) return 'the webhook is not set yet, a start will set it';
  if (webhook?.lastError === undefined || webhook.pending === 0) return 'messages come in by webhook';
  return `the webhook is set, but ${counted(webhook.pending, 'message')} could not be delivered (${webhook.lastError.description})`;
}

const NO_DEADMAN_ADVICE =
  'DEADMAN_URL is not set: if this gateway, its machine or its Redis dies, nobody is told, because nothing is alive to tell it. Make a check at a service that waits for a request a minute and alarms when none comes (as healthchecks.io, or one of your own), and put its address there';
const NO_SECOND_CHANNEL_ADVICE =
  'ALERT_WEBHOOK_URL is not set: while Telegram is away or the bot is blocked, no alert reaches anybody. It may lead to Slack, Mattermost or Discord; ALERTMANAGER_URL reaches PagerDuty and others';
const NO_CHANNEL_ADVICE =
  'TELEGRAM_ALERT_CHAT_ID is none and ALERT_WEBHOOK_URL is not set: alerts are in the log alone, and nobody is told of anything';

/** Lists the alert channels other than Telegram, and the risk without them. */
export function checkWatchers({ settings }: CheckContext): Finding[] {
  const { DEADMAN_URL: deadMan, TELEGRAM_ALERT_CHAT_ID: chat } = settings;
  const names = (['ALERT_WEBHOOK_URL', 'ALERTMANAGER_URL'] as const).filter((name) => settings[name] !== undefined);
  return [
    // Send no test message, because it would wake somebody.
    names.length > 0
      ? passed('second channel', `${names.join(' and ')}: set`)
      : withAdvice('second channel', chat === undefined ? NO_CHANNEL_ADVICE : NO_SECOND_CHANNEL_ADVICE),
    deadMan === undefined ? withAdvice("dead-man's switch", NO_DEADMAN_ADVICE) : passed("dead-man's switch", 'is set'),
  ];
}
