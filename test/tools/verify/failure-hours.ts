import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { LIES } from '../../stand-in/claude/lies.ts';
import type { ReactionRule } from '../../stand-in/claude/reaction.ts';
import type { TelegramStandIn } from '../../stand-in/telegram/server.ts';
import type { Ground } from './ground.ts';
import { chatsFrom, type Hour } from './hour.ts';

const FOR_EVER = 1_000_000;
const STRANGER = 5_555;
const STRANGE_UPDATES = 25;
const CHATS = { blocked: 1201, lost: 1211, away: 1219, crowd: 1221, keyless: 1401 } as const;
const FEW = 4;
const CROWD = 150;
const CROWD_MESSAGES = 300;
const KEYLESS_MESSAGES = 80;
/** Longer than the shortened limit of the rule, six seconds. */
const SLOW_MS = 9_000;
const WRITING_MS = 1_000;
const BLOCKED = { status: 403, description: 'Forbidden: bot was blocked by the user' };

const slow: ReactionRule = ({ kind }) => (kind === 'main' ? { do: 'answer', afterMs: SLOW_MS } : undefined);

function failIn(telegram: TelegramStandIn, chat: number, ...planned: Parameters<TelegramStandIn['fail']>): void {
  const [method, failure, times] = planned;
  telegram.fail(method, failure, times, (params) => Number(params.chat_id) === chat);
}

async function crowd({ telegram }: Ground): Promise<void> {
  for (let n = 0; n < CROWD_MESSAGES; n++) telegram.say(CHATS.crowd + (n % CROWD), `Is anybody there? (${n})`);
}

/**
 * The outage comes first: an incident that was open within the hour is told again only after five minutes, and then no alert
 * would wait for an operator who cannot be reached.
 */
export const FAILURE_HOURS: readonly Hour[] = [
  {
    name: 'the provider is overloaded, a crowd writes, and the operator cannot be reached',
    fires: [
      'SpillwayProviderFailing',
      'SpillwayProviderErrors',
      'SpillwaySilent',
      'SpillwayUnanswered',
      'SpillwayBacklog',
      'SpillwayAlertBacklog',
    ],
    async play({ ground, untilFiring }) {
      failIn(ground.telegram, ALERT_CHAT, 'sendMessage', { do: 'html502' }, FOR_EVER);
      ground.hook.isDown = true;
      const outage = ground.react(() => LIES.overloaded);
      await crowd(ground);
      await untilFiring(this.fires);
      outage.end();
      ground.telegram.heal();
      ground.hook.isDown = false;
      await ground.untilQuiet(120_000);
    },
  },
  {
    name: 'strangers write, users have blocked the bot, and the results of sends are lost',
    fires: ['SpillwayStrangers', 'SpillwayUndeliverable', 'SpillwaySendsUnknown', 'SpillwaySendGivenUp'],
    async play({ ground, untilFiring }) {
      const { telegram } = ground;
      const [blocked, lost] = [chatsFrom(CHATS.blocked, FEW), chatsFrom(CHATS.lost, FEW)];
      for (const chat of blocked) failIn(telegram, chat, '*', BLOCKED, FOR_EVER);
      for (const chat of lost) failIn(telegram, chat, 'sendMessage', { do: 'loseReply' }, 2);
      for (let n = 0; n < STRANGE_UPDATES; n++) telegram.say(STRANGER, `Let me in (${n})`);
      for (const chat of [...blocked, ...lost]) telegram.say(chat, 'How is it?');
      for (const chat of [...blocked, ...lost]) await ground.untilOutcomes(chat, 1);
      await untilFiring(this.fires);
      telegram.heal();
    },
  },
  {
    name: 'the key is refused',
    fires: ['SpillwayMostMessagesFail', 'SpillwayMessagesFailed'],
    async play({ ground, untilFiring }) {
      const refused = ground.react(() => LIES.key);
      for (const chat of chatsFrom(CHATS.keyless, KEYLESS_MESSAGES)) ground.telegram.say(chat, 'How is it?');
      await untilFiring(this.fires);
      refused.end();
      await ground.untilQuiet();
    },
  },
  {
    name: 'the provider is slow, and Jaeger stands still',
    fires: ['SpillwaySlow', 'SpillwaySpansLost'],
    async play({ ground, daemons, untilFiring }) {
      const slowly = ground.react(slow);
      daemons.jaeger?.freeze();
      await untilFiring(this.fires);
      daemons.jaeger?.thaw();
      slowly.end();
      await ground.untilQuiet();
    },
  },
  {
    name: 'Telegram goes away while an answer is written',
    fires: ['SpillwayNoPolls', 'SpillwayTelegramAway'],
    async play({ ground, untilFiring }) {
      const { claude, telegram } = ground;
      const writing = ground.react(() => ({ do: 'answer', afterMs: WRITING_MS }));
      telegram.say(CHATS.away, 'Can you hear me?');
      await claude.waitForCall(({ pendingText }) => pendingText === 'Can you hear me?');
      await telegram.goAway('page');
      await untilFiring(this.fires);
      await telegram.comeBack();
      writing.end();
      await ground.untilQuiet();
    },
  },
];
