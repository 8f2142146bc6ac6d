/**
 * The bot of an afternoon, as a competent developer writes it: history in a Redis list, "typing…", the answer written into
 * one message while it comes. What two programs have in common; they differ in what stands between Telegram and this.
 */
import Anthropic from '@anthropic-ai/sdk';
import { Redis } from 'ioredis';
import pino from 'pino';
import { Telegraf } from 'telegraf';

type Turn = Anthropic.MessageParam;
type Telegram = Telegraf['telegram'];

/** Exchanges that are kept of a chat, and sent with each message. */
const HISTORY_TURNS = 40;
const EDIT_EVERY_MS = 1_000;
const TYPING_EVERY_MS = 4_000;
const MESSAGE_CHARS_MAX = 4_096;
const SYSTEM = 'You are a helpful assistant in a Telegram chat.';
export const log = pino(pino.destination(2));
const SORRY = 'Sorry, something went wrong. Please try again.';

/** What both programs are made of, from the settings that a gateway has as well. */
export function openBot(env: Readonly<NodeJS.ProcessEnv>) {
  const {
    TELEGRAM_BOT_TOKEN = '',
    TELEGRAM_API_ROOT = '',
    ANTHROPIC_API_KEY,
    ANTHROPIC_BASE_URL,
    REDIS_URL = '',
  } = env;
  const redis = new Redis(REDIS_URL, { maxRetriesPerRequest: null });
  redis.on('error', () => {});
  const bot = new Telegraf(TELEGRAM_BOT_TOKEN, { telegram: { apiRoot: TELEGRAM_API_ROOT } });
  bot.catch((error) => log.error({ err: error }, 'update failed'));
  const anthropic = new Anthropic({ apiKey: ANTHROPIC_API_KEY, baseURL: ANTHROPIC_BASE_URL });
  return { redis, bot, answer: createAnswer(redis, bot.telegram, anthropic) };
}

/** Polls until the process is asked to end; it says that it runs, as a gateway does. */
export function run({ bot, redis }: Pick<ReturnType<typeof openBot>, 'bot' | 'redis'>, stop = async () => {}): void {
  bot
    .launch(() => log.info('running'))
    .catch((error) => {
      log.error({ err: error }, 'polling ended');
      process.exit(1);
    });
  process.once('SIGTERM', async () => {
    bot.stop();
    await stop();
    redis.disconnect();
    process.exit(0);
  });
}

/** Tells a chat that its message could not be answered. */
export async function apologise(telegram: Telegram, chatId: number): Promise<void> {
  await telegram.sendMessage(chatId, SORRY).catch(() => {});
}

function createAnswer(redis: Redis, telegram: Telegram, anthropic: Anthropic) {
  return async (chatId: number, text: string): Promise<void> => {
    const key = `history:${chatId}`;
    const question: Turn = { role: 'user', content: text };
    const history = (await redis.lrange(key, -HISTORY_TURNS, -1)).map((json) => JSON.parse(json) as Turn);
    const endTyping = showTyping(telegram, chatId);
    try {
      const answer = await written(telegram, chatId, anthropic, [...history, question]);
      await redis.rpush(key, JSON.stringify(question), JSON.stringify({ role: 'assistant', content: answer }));
      await redis.ltrim(key, -HISTORY_TURNS, -1);
    } finally {
      endTyping();
    }
  };
}

function showTyping(telegram: Telegram, chatId: number): () => void {
  const show = () => void telegram.sendChatAction(chatId, 'typing').catch(() => {});
  show();
  const timer = setInterval(show, TYPING_EVERY_MS);
  return () => clearInterval(timer);
}

/** Asks the model, and writes the answer into the chat as it comes. */
async function written(telegram: Telegram, chatId: number, anthropic: Anthropic, messages: Turn[]): Promise<string> {
  const stream = anthropic.messages.stream({ model: 'claude-opus-5-5', max_tokens: 4_096, system: SYSTEM, messages });
  let shown: { messageId: number; text: string } | undefined;
  let said = '';
  let showing: Promise<unknown> = Promise.resolve();
  const show = async (): Promise<void> => {
    const text = said.slice(0, MESSAGE_CHARS_MAX);
    if (text === '' || text === shown?.text) return;
    if (shown === undefined) {
      const { message_id: messageId } = await telegram.sendMessage(chatId, text);
      shown = { messageId, text };
    } else {
      await telegram.editMessageText(chatId, shown.messageId, undefined, text);
      shown = { ...shown, text };
    }
  };
  let shownAtMs = Number.NEGATIVE_INFINITY;
  stream.on('text', (_, whole) => {
    said = whole;
    if (performance.now() - shownAtMs < EDIT_EVERY_MS) return;
    shownAtMs = performance.now();
    showing = showing.then(show).catch(() => {});
  });
  said = await stream.finalText();
  await showing;
  await show();
  for (let at = MESSAGE_CHARS_MAX; at < said.length; at += MESSAGE_CHARS_MAX)
    await telegram.sendMessage(chatId, said.slice(at, at + MESSAGE_CHARS_MAX));
  return said;
}
