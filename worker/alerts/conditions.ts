import type { ChatKey, EntryId } from '../../shared/redis/keys.ts';
import { percentOf, type Spent, spentInWords } from '../../shared/state/spending/limit.ts';
import { dayOfRetirement, type Lifecycle } from '../model/lifecycle.ts';
import { PROVIDER_SAID, type ProviderTrouble } from '../model/provider-trouble.ts';
import type { Condition } from './incident.ts';

/** Messages that have no outcome for too long. Chat and trace are those of the oldest one. */
export function unansweredAlert(seen: {
  chat: ChatKey;
  entry: EntryId;
  traceId: string;
  acceptedMs: number;
  ageMs: number;
  messages: number;
  chats: number;
  waiting: number;
}): Condition {
  const { chat, entry, traceId, acceptedMs, ageMs, messages, chats, waiting } = seen;
  return {
    cause: 'unanswered',
    text: `A message is unanswered for ${seconds(ageMs)} seconds. Chat ${chat}, entry ${entry}. ${messages} messages of ${chats} chats wait for too long, ${waiting} in all. Trace ${traceId}`,
    traceId,
    messages,
    chats,
    sinceMs: acceptedMs,
  };
}

/** Messages of chats that an operator has paused. */
export function pausedAlert(messages: number, chats: number): Condition {
  return {
    cause: 'paused',
    text: `${messages} messages of ${chats} chats wait because an operator has paused them.`,
    messages,
    chats,
  };
}

/** Jobs that no worker runs. */
export function idleAlert(jobsWaiting: number, shards: readonly number[]): Condition {
  return {
    cause: 'idle',
    text: `Jobs wait and none is active: ${jobsWaiting} jobs of shard ${shards.join(', ')}. No worker takes them up.`,
    messages: jobsWaiting,
  };
}

const PROVIDER_TODO = {
  overloaded: 'Messages wait and are answered when it is back.',
  network: 'Check ANTHROPIC_BASE_URL, the network and the proxy; messages wait meanwhile.',
  auth: 'Check ANTHROPIC_API_KEY: messages fail, and "cli dead replay" sends them again.',
  billing: 'Add credit: messages fail, and "cli dead replay" sends them again.',
  model: 'Check MODEL, FALLBACK_MODEL and COMPACTION_MODEL: messages fail, and "cli dead replay" sends them again.',
} as const satisfies Record<ProviderTrouble, string>;

/** A model endpoint that does not answer; the level says how it fails. */
export function providerAlert(
  failing: { why: ProviderTrouble; status: string; failures: number; sinceMs: number },
  lastsMs: number,
  waiting: number,
): Condition {
  const { why, status, failures, sinceMs } = failing;
  const seen = `${failures} calls failed in ${seconds(lastsMs)} seconds and none went through`;
  return {
    cause: 'provider',
    text: `The model endpoint ${PROVIDER_SAID[why]}: ${seen} (status ${status === '' ? 'none' : status}); ${waiting} messages wait. ${PROVIDER_TODO[why]}`,
    level: why,
    sinceMs,
  };
}

/** The level at which a model is retired, and no longer only to be. */
export const RETIRED = 'retired';

/** A model in use that its provider retires, or has retired; one incident for each model and date. */
export function retirementCondition(model: string, settings: readonly string[], life: Lifecycle): Condition {
  const day = life.retiresAtMs === undefined ? undefined : dayOfRetirement(life.retiresAtMs);
  const about = { cause: 'model-retires' as const, key: day === undefined ? model : `${model} ${day}` };
  const named = `The model ${model} (${settings.join(', ')})`;
  if (life.stage === 'retired') return { ...about, level: RETIRED, text: `${named} is retired: calls of it fail.` };
  return { ...about, text: `${named} is to be retired; the day that is announced is ${day}. Then calls of it fail.` };
}

/** A Telegram that does not answer. `answers` of all that waits are finished. */
export function telegramAlert(away: {
  sinceMs: number;
  lastsMs: number;
  why: string;
  answers: number;
  chats: number;
  waiting: number;
}): Condition {
  const { sinceMs, lastsMs, why, answers, chats, waiting } = away;
  return {
    cause: 'telegram',
    text: `Telegram has not answered for ${seconds(lastsMs)} seconds (${why}): ${answers} finished answers of ${chats} chats wait, and ${Math.max(0, waiting - answers)} further messages, for which the model is not asked meanwhile.`,
    messages: answers,
    chats,
    sinceMs,
  };
}

/** No process polls Telegram for messages. */
export function noPollAlert(ageMs: number, lastFailure: string | undefined): Condition {
  return {
    cause: 'no-poll',
    text: `No poll has succeeded for ${seconds(ageMs)} seconds: messages stay with Telegram, which keeps them for 24 hours.${lastFailureOf(lastFailure)}`,
  };
}

/** No healthy webhook check: Telegram reports trouble with the webhook, or cannot be asked. */
export function noDeliveryAlert(ageMs: number, lastFailure: string | undefined): Condition {
  return {
    cause: 'no-delivery',
    text: `The webhook shows no sign of life for ${seconds(ageMs)} seconds: messages stay with Telegram, which keeps them for 24 hours.${lastFailureOf(lastFailure)}`,
  };
}

/** A second receiver of the bot's messages. */
export function conflictAlert(ageMs: number): Condition {
  return {
    cause: 'conflict',
    text: `Telegram refuses our polls (409, ${seconds(ageMs)} seconds ago): another process polls with the same token, or a webhook is set. Messages may be taken by the other one.`,
  };
}

/** Our webhook was removed or replaced by someone else. */
export function takenWebhookAlert(ageMs: number): Condition {
  return {
    cause: 'conflict',
    text: `Our webhook was removed or replaced (${seconds(ageMs)} seconds ago): another process receives with the same token. It was set again. Messages may have been taken by the other one.`,
  };
}

/** A bot token that Telegram rejects. */
export function tokenAlert(ageMs: number): Condition {
  return {
    cause: 'token',
    text: `The bot token is not accepted (${seconds(ageMs)} seconds ago): nothing can be received or sent.`,
  };
}

/** A Redis that will soon accept no more messages. */
export function memoryAlert({ usedBytes, maxBytes }: { usedBytes: number; maxBytes: number }): Condition {
  return {
    cause: 'memory',
    text: `Redis is nearly full: ${megabytes(usedBytes)} of ${megabytes(maxBytes)} MB are used. When it is full, no more messages are accepted.`,
  };
}

/** A Redis whose data is not persisted to disk. `field` is the INFO field that says so. */
export function persistenceAlert(field: string): Condition {
  return {
    cause: 'persistence',
    text: `Redis cannot write its files (${field}): what it accepted since is lost if it ends now.`,
    level: field,
  };
}

/** From which shares of a budget on the operator is notified, in percent; each is a level. */
const BUDGET_LEVELS = [
  { from: 80, words: 'nearly used up' },
  { from: 50, words: 'half used up' },
];

/** A budget of all chats that is half or nearly used up, and one that is: then messages are refused. */
export function budgetConditions(spent: Spent): Condition[] {
  const { limit, isUsedUp, againMs } = spent;
  const percent = percentOf(spent);
  const level = BUDGET_LEVELS.find(({ from }) => percent >= from || isUsedUp);
  if (level === undefined) return [];
  const name = `The ${limit.period === 'day' ? 'daily' : 'monthly'} budget of all chats (${limit.setting})`;
  const share = `${percent} %, ${spentInWords(spent)}`;
  const until = `until ${new Date(againMs).toISOString().slice(0, 10)}, 00:00 UTC`;
  const about = { key: limit.setting, level: `${level.from} %` };
  const ahead: Condition = { ...about, cause: 'budget', text: `${name} is ${level.words}: ${share}.` };
  if (!isUsedUp) return [ahead];
  const text = `${name} is used up: messages are refused ${until}. ${share}.`;
  return [ahead, { cause: 'over-budget', key: limit.setting, text }];
}

/** The level at which a shard has as many dead letters as it may, and the oldest begin to go. */
export const LETTERS_FULL = 'full';

/**
 * Failed messages that no operator has handled. `fullest` is the largest number of a shard, `max` the most that it may
 * have.
 */
export function deadLettersAlert(pile: { letters: number; fullest: number; max: number; dropped: number }): Condition {
  const { letters, fullest, max, dropped } = pile;
  const [level, more] =
    fullest >= max
      ? [LETTERS_FULL, `The oldest are removed for good from now on, ${dropped} so far.`]
      : fullest >= max * LETTERS_SHARE
        ? ['nearly full', `From ${max} on the oldest are removed for good.`]
        : ['', ''];
  const text = `Dead letters pile up: ${letters} failed messages wait for somebody to replay or purge them.`;
  if (level === '') return { cause: 'dead-letters', text, messages: letters };
  const fill = `A shard has ${fullest} of at most ${max} (DEAD_LETTERS_MAX). ${more}`;
  return { cause: 'dead-letters', level, text: `${text} ${fill}`, messages: letters };
}

/** The share of the most dead letters at which the operator is warned. */
export const LETTERS_SHARE = 0.8;

/** A channel that takes no alerts. */
export function alertChannelAlert(lastsMs: number, why: string): Condition {
  return {
    cause: 'alert-channel',
    text: `Alerts cannot be sent: the operator's chat has taken none for ${seconds(lastsMs)} seconds (${why}).`,
  };
}

function lastFailureOf(kind: string | undefined): string {
  return kind === undefined ? '' : ` The last failure was: ${kind}.`;
}

function seconds(ms: number): number {
  return Math.round(ms / 1000);
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1024 / 1024);
}
