import type { Redis } from 'ioredis';
import type { FoundRedisServer } from '../../../shared/private-redis/install.ts';
import { connectRedis } from '../../../shared/redis/connection.ts';
import { chatKey, keysOf } from '../../../shared/redis/keys.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import { createFleet, type Fleet } from '../../chaos/fleet.ts';
import { type ChaosRedis, startChaosRedis } from '../../chaos/redis.ts';
import { temporaryBlobs } from '../../fixture/blobs.ts';
import { buttonsOf } from '../../fixture/buttons.ts';
import { TOKEN } from '../../fixture/console.ts';
import { pointedAt } from '../../fixture/environment.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { conversation } from '../../fixture/history.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { MANNERS } from '../../fixture/manners.ts';
import { openNotebook } from '../../fixture/notebook.ts';
import { until } from '../../fixture/root.ts';
import type { ReactionRule } from '../../stand-in/claude/reaction.ts';
import { type ClaudeStandIn, startClaude } from '../../stand-in/claude/server.ts';
import type { ShownMessage } from '../../stand-in/telegram/chats.ts';
import { startTelegram, type TelegramStandIn } from '../../stand-in/telegram/server.ts';
import type { Hook } from './hook.ts';
import { FASTER } from './shorter.ts';

/** The gateways, and what is around them: all of it can be hurt. */
export interface Ground {
  readonly claude: ClaudeStandIn;
  readonly telegram: TelegramStandIn;
  readonly redis: ChaosRedis;
  readonly peek: Redis;
  readonly keys: ReturnType<typeof keysOf>;
  readonly hook: Hook;
  /** What points a gateway or the command line at this ground. */
  readonly env: Record<string, string>;
  readonly fleet: Fleet;
  /** The model answers by this rule, too, until it is taken away; the newest is asked first. */
  react(rule: ReactionRule): { end(): void };
  /** Gives a chat a session of so many exchanges. */
  importExchanges(chat: number, exchanges: number, chars: number): Promise<void>;
  /** Resolves when a chat has that many outcomes. */
  untilOutcomes(chat: number, count: number): Promise<void>;
  /** Resolves when no message waits. */
  untilQuiet(withinMs?: number): Promise<void>;
  /** What the operator was sent on Telegram so far. */
  notices(): string[];
  close(): Promise<void>;
  abandon(): void;
}

/** What the model takes; long conversations do not fit into it. */
export const WINDOW_TOKENS = 60_000;
const ALLOWED = Array.from({ length: 600 }, (_, index) => 1001 + index);
const GATEWAY = 'test/tools/verify/gateway-process.ts';
const UNANSWERED_ALERT_MS = 120_000;
const WAIT_MS = 60_000;
const OTEL = {
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  OTEL_BSP_SCHEDULE_DELAY: '250',
  OTEL_METRIC_EXPORT_INTERVAL: '1000',
  OTEL_METRIC_EXPORT_TIMEOUT: '900',
};

/** Builds it; no gateway runs yet. */
export async function createGround(server: FoundRedisServer, hook: Hook, links: GroundLinks): Promise<Ground> {
  const [claude, telegram, redis, blobs, notebook] = await Promise.all([
    startClaude({ ...MANNERS, windowTokens: WINDOW_TOKENS }),
    startTelegram(),
    startChaosRedis(server),
    temporaryBlobs(),
    openNotebook(),
  ]);
  telegram.openChat(ALERT_CHAT);
  const peek = connectRedis(redis.url, 'patient');
  const keys = keysOf(0);
  const second = { ALERT_WEBHOOK_URL: `${hook.url}/gateway` };
  const env = { ...environmentOf(telegram, claude, redis.url, links), ...blobs.env, ...notebook.env, ...second };
  const fleet = createFleet(env, GATEWAY);
  return {
    ...{ claude, telegram, redis, peek, keys, hook, env, fleet },
    react: (rule) => ruleOf(claude, rule),
    async importExchanges(chat, exchanges, chars) {
      await importSession(peek, keys, chatKey(chat), await parseLines(conversation(exchanges, chars)));
    },
    async untilOutcomes(chat, count) {
      await nextOutcome({ claude, telegram, peek, keys }, chat, count);
    },
    async untilQuiet(withinMs = WAIT_MS) {
      const isQuiet = async () => (await peek.xpending(keys.inbound, 'dispatcher'))[0] === 0 || undefined;
      await until('end of what waits', isQuiet, withinMs);
    },
    notices: () => telegram.shown(ALERT_CHAT).map(withLinks),
    async close() {
      await fleet.stop();
      peek.disconnect();
      await Promise.all([claude.close(), telegram.close(), redis.stop(), blobs.remove(), notebook.remove()]);
    },
    abandon() {
      fleet.abandon();
      redis.abandon();
    },
  };
}

/** What the command line is run with: it exports nothing. */
export function commandEnv({ env }: Ground): Record<string, string> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: _, ...rest } = env;
  return rest;
}

/** A message, and where the buttons under it lead, a line each. */
function withLinks(message: ShownMessage): string {
  const links = buttonsOf(message).flatMap(({ text, url }) => (url === undefined ? [] : [`${text}: ${url}`]));
  return [message.text, ...links].join('\n');
}

/** Where a gateway sends what it measures, and what its notices link to. */
export interface GroundLinks {
  otlpUrl: string | undefined;
  jaegerUrl: string | undefined;
}

function environmentOf(telegram: TelegramStandIn, claude: ClaudeStandIn, redisUrl: string, links: GroundLinks) {
  return {
    ...pointedAt(telegram, claude),
    TELEGRAM_ALLOWED_IDS: ALLOWED.join(','),
    TELEGRAM_ALERT_CHAT_ID: String(ALERT_CHAT),
    TELEGRAM_PACING: 'false',
    TOTAL_DAILY_USD: '999999',
    REDIS_URL: redisUrl,
    LOG_LEVEL: 'info',
    UNANSWERED_ALERT_MS: String(UNANSWERED_ALERT_MS / FASTER),
    OPERATOR_TOKEN: TOKEN,
    RUNBOOK_URL: 'http://runbook.example/docs/runbook.md',
    ...(links.jaegerUrl !== undefined && { TRACE_URL_TEMPLATE: `${links.jaegerUrl}/trace/{traceId}` }),
    ...(links.otlpUrl !== undefined && { ...OTEL, OTEL_EXPORTER_OTLP_ENDPOINT: links.otlpUrl }),
  };
}

function ruleOf(claude: ClaudeStandIn, rule: ReactionRule): { end(): void } {
  let isOn = true;
  claude.react((call) => (isOn ? rule(call) : undefined));
  return {
    end() {
      isOn = false;
    },
  };
}
