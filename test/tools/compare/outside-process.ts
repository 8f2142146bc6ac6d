/** Telegram, Claude and a collector in a process of their own, which does what its parent asks over the channel of messages. */
import { setTimeout as pause } from 'node:timers/promises';
import type { ClaudeCall } from '../../stand-in/claude/reaction.ts';
import { startClaude } from '../../stand-in/claude/server.ts';
import { startOtlp } from '../../stand-in/otlp.ts';
import { startTelegram } from '../../stand-in/telegram/server.ts';
import { type Asked, markOf } from './judge.ts';
import type { Order, Reply, Sample } from './outside.ts';

const LOOK_MS = 20;
/** Long enough to be written piece by piece. */
const SLOW_ANSWER = { filler: ' and so it goes on'.repeat(8), everyMs: 20 };

const PING_MS = 200;
const modelMs = Number(process.argv[2] ?? 0);
const prefill = modelMs > 0 ? { prefill: { forMs: modelMs, everyMs: PING_MS } } : {};
const [telegram, claude, otlp] = await Promise.all([startTelegram(), startClaude(prefill), startOtlp()]);
let asked: Asked[] = [];
let answeredAtMs: number[] = [];
let isSlow = false;
let thinkMs = 0;
let isOverloaded = false;

claude.react((call) => {
  if (isOverloaded) return { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' };
  if (call.kind !== 'main' || asked.length === 0) return undefined;
  const [mark = ''] = /\[\d+\/\d+\]/.exec(call.pendingText) ?? [];
  return isSlow
    ? { do: 'answer', text: `${mark}${SLOW_ANSWER.filler}`, everyMs: SLOW_ANSWER.everyMs }
    : { do: 'answer', text: `${mark} is what you asked.`, afterMs: thinkMs };
});

telegram.onAnswer(({ method, ok }) => {
  if (ok && (method === 'sendMessage' || method === 'sendRichMessage')) answeredAtMs.push(performance.now());
});

const shownIn = (chats: readonly number[]) =>
  chats.flatMap((chat) => telegram.shown(chat).map(({ messageId, text }) => ({ chat, messageId, text })));
const chatsAsked = () => [...new Set(asked.map(({ chat }) => chat))];

function say(one: Asked, words: string): void {
  asked.push(one);
  telegram.say(one.chat, `${markOf(one)} ${words}`);
}

const answerTo = (one: Asked) => telegram.shown(one.chat).find(({ text }) => text.includes(markOf(one)));

/** Waits until something holds, for so long at most. */
async function until(holds: () => boolean, forMs: number): Promise<void> {
  const deadline = performance.now() + forMs;
  while (!holds() && performance.now() < deadline) await pause(LOOK_MS);
}

/** One message at a time: when the model was asked, when its first words came, and when they stood in the chat. */
async function sample(one: Asked): Promise<Sample> {
  const [saidMs, before] = [Date.now(), telegram.calls.length];
  say(one, 'Tell me more.');
  await until(() => claude.inFlight() === 0 && answerTo(one)?.text.endsWith('goes on') === true, 30_000);
  const call: ClaudeCall | undefined = claude.calls.findLast(({ kind }) => kind === 'main');
  const shown = telegram.calls
    .slice(before)
    .find(({ method }) => /^send(?:Message|RichMessage|MessageDraft|RichMessageDraft)$/i.test(method));
  return {
    toModelMs: (call?.at ?? Number.NaN) - saidMs,
    firstWordsMs: (shown?.at ?? Number.NaN) - (call?.at ?? Number.NaN),
  };
}

/** What each order does, and what is said when it is done. */
const DO: { [Kind in Order['do']]: (order: Extract<Order, { do: Kind }>) => Promise<Reply> } = {
  async begin({ slow, windowTokens, thinkMs: ms = 0 }) {
    asked = [];
    thinkMs = ms;
    isSlow = slow;
    isOverloaded = false;
    claude.windowTokens = windowTokens;
    return { done: true };
  },
  async sample({ chat, n }) {
    return { sample: await sample({ chat, n }) };
  },
  async burst({ messages, chats, firstChat, firstN = 0 }) {
    const saidMs = performance.now();
    const all = Array.from({ length: messages }, (_, at) => ({
      chat: firstChat + (at % chats),
      n: firstN + Math.floor(at / chats),
    }));
    for (const one of all) say(one, 'hello');
    let last = 0;
    await until(() => {
      const isDone = all.every((one) => answerTo(one) !== undefined);
      if (isDone) last = performance.now();
      return isDone;
    }, 120_000);
    const answered = all.filter((one) => answerTo(one) !== undefined).length;
    return { perSecond: (answered * 1_000) / ((last || performance.now()) - saidMs) };
  },
  async write({ messages, chats, firstChat }) {
    answeredAtMs = [];
    for (let n = 0; n < messages; n++) telegram.say(firstChat + (n % chats), `message ${n}`);
    await until(() => answeredAtMs.length >= messages, 300_000);
    return { answeredAtMs };
  },
  async say({ chat, n, words }) {
    say({ chat, n }, words);
    return { done: true };
  },
  async telegram({ isAway }) {
    await (isAway ? telegram.goAway('page') : telegram.comeBack());
    return { done: true };
  },
  async model({ overloaded, windowTokens }) {
    isOverloaded = overloaded;
    if (windowTokens !== undefined) claude.windowTokens = windowTokens;
    return { done: true };
  },
  async settle({ quietMs, atMostMs }) {
    let [seen, changedMs] = ['', performance.now()];
    await until(() => {
      const now = JSON.stringify([claude.calls.length, shownIn(chatsAsked()).map(({ text }) => text.length)]);
      if (now !== seen) [seen, changedMs] = [now, performance.now()];
      const isAll = asked.every((one) => answerTo(one) !== undefined);
      return claude.inFlight() === 0 && performance.now() - changedMs > (isAll ? quietMs / 5 : quietMs);
    }, atMostMs);
    return { asked, shown: shownIn(chatsAsked()) };
  },
};

process.on('message', (order: Order) => {
  const work = DO[order.do] as (order: Order) => Promise<Reply>;
  work(order).then((reply) => process.send?.(reply));
});
process.once('disconnect', () => process.exit(0));
process.send?.({ telegramUrl: telegram.url, token: telegram.token, claudeUrl: claude.url, otlpUrl: otlp.url });
