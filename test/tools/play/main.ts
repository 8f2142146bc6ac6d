/**
 * Plays with a gateway by hand: Telegram and the model are stand-ins on loopback, a typed line is a message, and what the bot
 * shows is printed.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { PROJECT_ROOT } from '../../../shared/base/project.ts';
import { temporaryBlobs } from '../../fixture/blobs.ts';
import { openNotebook } from '../../fixture/notebook.ts';
import { freshRedis } from '../../fixture/redis.ts';
import { startClaude } from '../../stand-in/claude/server.ts';
import { startTelegram, type TelegramStandIn } from '../../stand-in/telegram/server.ts';
import { findRedis, Refusal, runTool, type Values } from '../tool.ts';
import { help } from './commands.ts';
import { killPlayedGateway, type PlayedGateway, startPlayedGateway } from './gateway.ts';
import { ALERT_CHAT, GROUP, PRIVATE_CHAT } from './people.ts';
import { Play } from './play.ts';

const HELP = `Usage: npm run stand-in [-- options]

Starts stand-ins for Telegram and Claude on loopback, and a gateway between them, with a Redis of its own. Needs no key.
A typed line is a message, and what the bot shows is printed; buttons have numbers.

${help()}
  --no-gateway          prints the settings for a gateway that you start in another terminal
  --telegram-port PORT  default: a free one, and 8081 with --no-gateway
  --claude-port PORT    default: a free one, and 8082 with --no-gateway
  --thinks N            the model thinks for N tokens before each answer`;

const OPTIONS = {
  'no-gateway': { type: 'boolean', default: false },
  'telegram-port': { type: 'string' },
  'claude-port': { type: 'string' },
  thinks: { type: 'string', default: '0' },
} as const;

const LOG_FILE = join('.cache', 'play.log');
/** A thought takes a while, as a real one does. */
const PONDERING = { forMs: 3_000, everyMs: 500 };
const print = (text: string): void => void process.stdout.write(text);

await runTool(HELP, OPTIONS, playWith, killPlayedGateway);

async function playWith(values: Values<typeof OPTIONS>): Promise<void> {
  const isAlone = values['no-gateway'];
  const thinks = wholeNumber('thinks', values.thinks);
  const thinking = thinks > 0 ? { thinks, bindThinking: true, pondering: PONDERING } : {};
  const claudePort = portOf('claude-port', values['claude-port'], isAlone ? 8082 : 0);
  const telegramPort = portOf('telegram-port', values['telegram-port'], isAlone ? 8081 : 0);
  const claude = await startClaude({ port: claudePort, deltaDelayMs: 30, ...thinking });
  const telegram = await startTelegram({ port: telegramPort, firstUpdateId: firstUpdateId(), privacy: 'off' });
  const notebook = await openNotebook({});
  const settings = { ...settingsFor(telegram), ANTHROPIC_BASE_URL: claude.url, ...notebook.env };
  const own = isAlone ? undefined : await startOwnGateway(settings);
  const play = new Play(claude, telegram, own?.gateway, print);
  print(isAlone ? exportsOf(settings) : `The gateway runs; its log is in ${LOG_FILE}.\n`);
  print('Type a message; :help lists what else can be typed, and :quit ends.\n');
  try {
    await readLines(play);
    if (!play.hasQuit) await play.quiet();
  } finally {
    play.close();
    await own?.stop();
    await Promise.all([claude.close(), telegram.close(), notebook.remove()]);
  }
}

async function readLines(play: Play): Promise<void> {
  const lines = createInterface({ input: process.stdin, ...(process.stdin.isTTY && { output: process.stdout }) });
  lines.setPrompt(process.stdin.isTTY ? 'you> ' : '');
  lines.prompt();
  for await (const line of lines) {
    if (!(await play.take(line.trim()))) break;
    lines.prompt();
  }
  lines.close();
}

function settingsFor(telegram: TelegramStandIn): Record<string, string> {
  return {
    TELEGRAM_API_ROOT: telegram.url,
    TELEGRAM_BOT_TOKEN: telegram.token,
    TELEGRAM_ALLOWED_IDS: `${PRIVATE_CHAT},${GROUP}`,
    TELEGRAM_ALERT_CHAT_ID: String(ALERT_CHAT),
    TELEGRAM_OPERATOR_IDS: String(ALERT_CHAT),
    PAIRING: 'on',
    ANTHROPIC_API_KEY: 'stand-in',
    // A settings file may name a real Redis.
    SPILLWAY_ENV_FILE: 'none',
  };
}

async function startOwnGateway(
  settings: Record<string, string>,
): Promise<{ gateway: PlayedGateway; stop(): Promise<void> }> {
  await findRedis();
  const [redis, blobs] = await Promise.all([freshRedis({ fsync: 'always' }), temporaryBlobs()]);
  await mkdir(join(PROJECT_ROOT, '.cache'), { recursive: true });
  const env = { ...settings, ...blobs.env, REDIS_URL: redis.socketUrl, HTTP_PORT: '0', LOG_LEVEL: 'info' };
  const gateway = await startPlayedGateway(env, join(PROJECT_ROOT, LOG_FILE));
  const stop = async (): Promise<void> => {
    await gateway.stop();
    await Promise.all([redis.stop(), blobs.remove()]);
  };
  return { gateway, stop };
}

function exportsOf(settings: Record<string, string>): string {
  const lines = Object.entries(settings).map(([name, value]) => `export ${name}=${value}\n`);
  return `Start the gateway in another terminal with:\n\n${lines.join('')}npm start\n\n`;
}

/**
 * An id behind all of earlier plays, since nobody types ten lines a second: a gateway that kept its data remembers the ids
 * that it has accepted, and would take a message under one of them for a repeat.
 */
function firstUpdateId(): number {
  return Math.floor((Date.now() - Date.UTC(2026, 0)) / 100);
}

function portOf(name: string, text: string | undefined, fallback: number): number {
  const port = text === undefined ? fallback : wholeNumber(name, text);
  if (port > 65_535) throw new Refusal(`--${name} is a number from 0 to 65535.`);
  return port;
}

function wholeNumber(name: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new Refusal(`--${name} is a whole number.`);
  return Number(text);
}
