import { setTimeout as pause } from 'node:timers/promises';
import { randomInt } from '../fixture/random.ts';
import type { ClaudeCall, ReactionRule } from '../stand-in/claude/reaction.ts';
import { blocksOf } from '../stand-in/claude/request.ts';
import type { TelegramStandIn } from '../stand-in/telegram/server.ts';

/** What a user asks for: a short text, a long one, one that is answered in several parts, or a command. */
export type AskKind = 'text' | 'long' | 'parts' | 'help' | 'new' | 'stop' | 'forget';

/** One message that a user wrote, as the stand-in took it. */
export interface Asked {
  number: number;
  chatId: number;
  kind: AskKind;
  text: string;
  updateId: number;
  /** When it was written. */
  atMs: number;
}

/** What is written, and by how many. */
export interface TrafficPlan {
  messages: number;
  chats: number;
  /** What is asked, in turn; `mixed` draws. Default: short texts alone. */
  kinds?: readonly AskKind[] | 'mixed';
}

/** Users who write. Everything about it but its pace follows from the random numbers that it is given. */
export interface Traffic {
  /** What was written so far, by update id. */
  readonly asked: readonly Asked[];
  /** How many messages the plan has. */
  readonly planned: number;
  /** Writes the next messages, all of the rest by default, one every so many milliseconds; 0 is a burst. */
  pour(options?: { messages?: number; everyMs?: number }): Promise<void>;
  /** Resolves when so many messages were written, counted from the start. */
  untilAsked(count: number): Promise<void>;
  /** Writes one message more in every chat that was used: the flow must still work after whatever happened. */
  askOnceMore(): void;
}

/** The first chat of a world; the others follow it. */
export const FIRST_CHAT = 1001;
/** Stands in what a scenario itself lets somebody say, besides the traffic. */
export const ASIDE = '[aside]';
const WORDS = 'lane entry turn record view seed window outcome reply alert order fence stage'.split(' ');
const LONG_CHARS = 9_000;
const PART_CHARS = 3_900;
const PARTS = 3;
const NUMBER = /\[m(\d{6})\]/;
const MARK = /<#(\d{6}) (\d)\/(\d)>/g;

/** Prepares users who have not written yet. */
export function createTraffic(telegram: TelegramStandIn, plan: TrafficPlan, random: () => number): Traffic {
  const asked: Asked[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  const { kinds = ['text'] } = plan;
  const nextKind = (): AskKind =>
    kinds === 'mixed' ? drawKind(random) : (kinds[asked.length % kinds.length] ?? 'text');
  const ask = (chatId: number, kind: AskKind): void => {
    const number = asked.length + 1;
    const text = textOf(number, kind, random);
    asked.push({ number, chatId, kind, text, atMs: Date.now(), updateId: telegram.say(chatId, text) });
    for (const wait of waiting) if (asked.length >= wait.count) wait.resolve();
  };
  return {
    asked,
    planned: plan.messages,
    async pour({ messages = plan.messages - asked.length, everyMs = 0 } = {}) {
      for (let left = messages; left > 0; left--) {
        ask(FIRST_CHAT + randomInt(random, plan.chats), nextKind());
        if (everyMs > 0) await pause(everyMs * 2 * random());
      }
    },
    untilAsked(count) {
      if (asked.length >= count) return Promise.resolve();
      return new Promise((resolve) => waiting.push({ count, resolve }));
    },
    askOnceMore() {
      for (const chatId of new Set(asked.map((each) => each.chatId))) ask(chatId, 'text');
    },
  };
}

function drawKind(random: () => number): AskKind {
  const drawn = random();
  if (drawn < 0.04) return 'help';
  if (drawn < 0.06) return 'new';
  if (drawn < 0.07) return 'stop';
  if (drawn < 0.11) return 'long';
  return drawn < 0.19 ? 'parts' : 'text';
}

function textOf(number: number, kind: AskKind, random: () => number): string {
  if (kind === 'forget') return '/forget yes';
  if (kind === 'help' || kind === 'new' || kind === 'stop') return `/${kind}`;
  const words = Array.from({ length: 4 }, () => WORDS[randomInt(random, WORDS.length)]).join(' ');
  const text = `[m${padded(number)}] ${kind === 'parts' ? 'in parts: ' : ''}${words}?`;
  return kind === 'long' ? `${text} ${filler(LONG_CHARS)}` : text;
}

const padded = (number: number): string => String(number).padStart(6, '0');

const filler = (chars: number): string => `${WORDS.join(' ')} `.repeat(Math.ceil(chars / 60)).slice(0, chars);

/** The number that a question carries. */
export function numberIn(text: string): number | undefined {
  const found = NUMBER.exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}

/** Every number that stands in a text, as often as it stands there. */
export function numbersIn(text: string): number[] {
  return [...text.matchAll(new RegExp(NUMBER, 'g'))].map(([, number]) => Number(number));
}

/** A part of an answer, as it stands in what a user sees. */
export interface Mark {
  number: number;
  part: number;
  of: number;
}

/** The parts of answers that stand in a text. */
export function marksIn(text: string): Mark[] {
  return [...text.matchAll(MARK)].map(([, number, part, of]) => ({
    number: Number(number),
    part: Number(part),
    of: Number(of),
  }));
}

/** The question that a call is about: what the user wrote last, whatever tools have answered since. */
export function questionOf({ body }: ClaudeCall): string {
  const texts = body.messages.flatMap(({ role, content }) => (role === 'user' ? blocksOf(content) : []));
  return String(texts.findLast(({ type }) => type === 'text')?.text ?? '');
}

/** The model's answers: each names the question that it answers, once in every part. */
export const answers: ReactionRule = (call) => {
  const question = questionOf(call);
  const number = call.kind === 'main' ? numberIn(question) : undefined;
  if (number === undefined) return undefined;
  return { do: 'answer', text: answerTo(number, question), afterMs: 20 + ((number * 7919) % 180) };
};

function answerTo(number: number, question: string): string {
  const of = question.includes('in parts: ') ? PARTS : 1;
  const parts = Array.from({ length: of }, (_, index) => `<#${padded(number)} ${index + 1}/${of}>`);
  if (of === 1) return `${parts[0]} Here you are.`;
  return parts.map((mark) => `${mark} ${filler(PART_CHARS)}`.trim()).join('\n\n');
}
