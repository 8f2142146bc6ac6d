import type { Settings } from '../../shared/base/settings.ts';
import { counted } from '../../shared/base/text.ts';
import { type BotProfile, createTelegram, type WebhookInfo } from '../../shared/telegram/client.ts';
import { advised, type Finding, failed, fine, type Ground } from './finding.ts';

const TELEGRAM_DEADLINE_MS = 10_000;

const clientOf = ({ TELEGRAM_BOT_TOKEN: token, TELEGRAM_API_ROOT: apiRoot }: Settings) =>
  createTelegram({ token, apiRoot });

/** Checks the bot's token, and says how its messages arrive. */
export async function checkBot({ settings }: Ground): Promise<Finding[]> {
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
    fine('telegram', `the bot is @${me.value.username}; ${receiving}`),
    groupsOf(settings, me.value),
    ...guestsOf(settings, me.value),
  ];
}

/** Which messages of groups the bot sees, and whether the configuration needs more. */
function groupsOf(
  { TELEGRAM_ANSWER_ALL_IDS: all }: Settings,
  { can_read_all_group_messages: readsAll }: BotProfile,
): Finding {
  if (readsAll === true)
    return fine('groups', 'the bot sees every message of its groups, and answers those that are addressed to it');
  const privacy = 'privacy mode is on: the bot sees commands and replies to it, but no mentions';
  const isTooLittle = all === 'everyone' || all.size > 0;
  const advice = 'send /setprivacy to BotFather, then remove it from the group and add it again';
  if (!isTooLittle) return fine('groups', privacy);
  return advised('groups', `${privacy}, and TELEGRAM_ANSWER_ALL_IDS has no effect: ${advice}`);
}

/** Telegram delivers no call from elsewhere until the bot's owner has switched that on. */
function guestsOf({ TELEGRAM_GUESTS: guests }: Settings, { supports_guest_queries: isOn }: BotProfile): Finding[] {
  if (guests.size === 0) return [];
  const who = `${counted(guests.size, 'person', 'people')} may call the bot in chats that it is not part of`;
  return [isOn === false ? advised('guests', `${who}, but guest mode is off in BotFather`) : fine('guests', who)];
}

/** Shows "typing…" to the operator: it leaves nothing in the chat, and fails where a message would. */
export async function checkAlerts({ settings }: Ground): Promise<Finding[]> {
  const { TELEGRAM_ALERT_CHAT_ID: chatId } = settings;
  if (chatId === undefined) return [fine('alerts', 'TELEGRAM_ALERT_CHAT_ID is none: no chat gets them')];
  const shown = await clientOf(settings).sendTyping({ chatId });
  if (shown.ok) return [fine('alerts', "the operator's chat can be written to")];
  const { kind, description } = shown.failure;
  return [failed('alerts', `TELEGRAM_ALERT_CHAT_ID cannot be written to (${kind}: ${description})`)];
}

/** How messages will arrive, and what a start will change about that. */
function receivingOf({ TELEGRAM_WEBHOOK_URL: url }: Settings, webhook: WebhookInfo | undefined): string {
  const isOther = webhook !== undefined && URL.parse(webhook.url)?.href !== url;
  if (url === undefined)
    return isOther ? 'it will be polled, and a webhook that is set will be removed' : 'it is polled';
  if (isOther) return 'the webhook is not set yet, a start will set it';
  if (webhook?.lastError === undefined || webhook.pending === 0) return 'messages come in by webhook';
  return `the webhook is set, but ${counted(webhook.pending, 'message')} could not be delivered (${webhook.lastError.description})`;
}

const NO_SWITCH =
  'DEADMAN_URL is not set: if this gateway, its machine or its Redis dies, nobody is told, because nothing is alive to tell it. Make a check at a service that waits for a request a minute and alarms when none comes (as healthchecks.io, or one of your own), and put its address there';
const NO_SECOND =
  'ALERT_WEBHOOK_URL is not set: while Telegram is away or the bot is blocked, no alert reaches anybody. It may lead to Slack, Mattermost or Discord; ALERTMANAGER_URL reaches PagerDuty and others';
const NO_CHAT =
  'TELEGRAM_ALERT_CHAT_ID is none and ALERT_WEBHOOK_URL is not set: alerts are in the log alone, and nobody is told of anything';

/** Names the channels beside Telegram, and the risk without them. */
export function checkWatchers({ settings }: Ground): Finding[] {
  const { DEADMAN_URL: deadMan, TELEGRAM_ALERT_CHAT_ID: chat } = settings;
  const set = (['ALERT_WEBHOOK_URL', 'ALERTMANAGER_URL'] as const).filter((name) => settings[name] !== undefined);
  return [
    // It is not tried: that would wake somebody.
    set.length > 0
      ? fine('second channel', `${set.join(' and ')}: set`)
      : advised('second channel', chat === undefined ? NO_CHAT : NO_SECOND),
    deadMan === undefined ? advised("dead-man's switch", NO_SWITCH) : fine("dead-man's switch", 'is set'),
  ];
}
