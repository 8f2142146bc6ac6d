import type { EntryId } from '../../../shared/redis/keys.ts';
import { headerOf, messageCode } from '../../../worker/ask/message-header.ts';
import type { LogRecord, UserRecord } from '../../../worker/session/record.ts';
import { inboundText } from '../../fixture/inbound.ts';
import { randomInt, seededRandom } from '../../fixture/random.ts';
import { assistantSays, userSays } from '../../fixture/records.ts';
import type { Language, Topic, ValueKind } from './language.ts';

export const KINDS = ['single fact', 'changed fact', 'time', 'never said'] as const;
export type QuestionKind = (typeof KINDS)[number];

/** A question at the end of a chat, and how an answer to it is told from a wrong one. */
export interface Question {
  kind: QuestionKind;
  asks: string;
  /** What it is about, as the chat calls it. */
  about: string;
  /** The newest value, or the day; absent where nothing of it was ever said. */
  right?: string;
  /** All values of the kind that is asked for, where none is right. */
  wrong: readonly string[];
}

/** A line that the model was asked to remember, or to write anew. */
export interface Note {
  about: string;
  text: string;
}

/** A long chat, with what is asked at its end. */
export interface Chat {
  records: readonly LogRecord[];
  /** Oldest first. */
  notes: readonly Note[];
  questions: readonly Question[];
}

/** A sentence of the person, where it stands, and the line that they asked to be remembered with it. */
interface Told {
  at: number;
  says: string;
  note?: (day: string) => Note;
}

export const EXCHANGES = 500;
const OF_A_KIND = 5;
/** Of five facts or days, as many are asked to be remembered. */
const NOTED = 3;
/** Of five things that were never said, somebody else's of as many was. */
const OF_ANOTHER = 2;
const FIRST_MS = Date.UTC(2026, 0, 5, 8);
const EXCHANGE_MS = 7 * 60 * 60 * 1_000;
const TOLD_MAX = 3;
const ANSWER_PARTS = 3;

/** A chat of 500 exchanges over five months, with 20 questions. The same seed makes the same one. */
export function chatOf(language: Language, seed: number): Chat {
  const random = seededRandom(seed);
  const plan = planned(language, random);
  const told = Map.groupBy(plan.told, ({ at }) => at);
  const records: LogRecord[] = [];
  const notes: Note[] = [];
  for (let at = 0; at < EXCHANGES; at++) {
    const sentAt = new Date(FIRST_MS + at * EXCHANGE_MS);
    const day = dayOf(sentAt);
    const sentences = (told.get(at) ?? []).flatMap(({ says, note }) => {
      if (note) notes.push(note(day));
      return [says, ...(note ? [language.plea] : [])];
    });
    const words = sentences.length > 0 ? sentences.join(' ') : mused(language, random);
    records.push(message(`${pick(random, language.openings)} ${words}`, at, sentAt));
    const answer = Array.from({ length: ANSWER_PARTS }, () => pick(random, language.answers)).join('\n\n');
    records.push({ ...assistantSays(answer, sentAt.toISOString()), id: `a-${at}` });
  }
  return { records, notes, questions: plan.questions };
}

/** So each topic is named in about a dozen messages that tell nothing of it. */
function mused({ musings, topics, others }: Language, random: () => number): string {
  const nouns = [...topics.map(({ noun }) => noun), ...others];
  return [nouns, others].map((from) => pick(random, musings)(pick(random, from))).join(' ');
}

/** The message in which a question is asked, after the end of a chat. */
export function askedIn({ asks }: Question): UserRecord {
  return message(asks, EXCHANGES, new Date(FIRST_MS + EXCHANGES * EXCHANGE_MS));
}

function message(content: string, at: number, sentAt: Date): UserRecord {
  const nowMs = sentAt.getTime();
  const entry = `${nowMs}-0` as EntryId;
  const inbound = { ...inboundText(at + 1), sentAtMs: nowMs };
  const header = headerOf(inbound, { timeZone: 'UTC', code: messageCode('score', entry), nowMs });
  return userSays(content, { id: `u-${at}`, at: sentAt.toISOString(), entry, header });
}

function planned(language: Language, random: () => number): { told: Told[]; questions: Question[] } {
  const topics = shuffled(random, language.topics);
  const values = new Map(Object.entries(language.values).map(([kind, all]) => [kind, shuffled(random, all)]));
  const next = (kind: ValueKind): string => values.get(kind)?.pop() ?? '';
  const places = shuffled(
    random,
    Array.from({ length: EXCHANGES }, (_, at) => at),
  );
  const place = (): number => places.pop() ?? 0;
  const told: Told[] = [];
  const questions: Question[] = [];
  for (let n = 0; n < OF_A_KIND; n++) {
    const fact = (topic: Topic | undefined, times: number, kind: QuestionKind): void => {
      if (topic === undefined) return;
      const at = Array.from({ length: times }, place).sort((one, other) => one - other);
      const each = at.map((where) => ({ at: where, value: next(topic.kind) }));
      told.push(...each.map(({ at: where, value }, turn) => factTold(language, topic, { at: where, value, turn, n })));
      questions.push({ kind, asks: topic.asks, about: topic.noun, right: each.at(-1)?.value ?? '', wrong: [] });
    };
    fact(topics.pop(), 1, 'single fact');
    fact(topics.pop(), 2 + randomInt(random, TOLD_MAX - 1), 'changed fact');
    const unsaid = topics.pop();
    if (unsaid === undefined) continue;
    const { noun, kind, asks } = unsaid;
    const another = language.tellsOfAnother(noun, next(kind));
    if (n < OF_ANOTHER) told.push({ at: place(), says: another });
    questions.push({ kind: 'never said', asks, about: noun, wrong: language.values[kind] });
  }
  for (const [n, happening] of shuffled(random, language.happenings).slice(0, OF_A_KIND).entries()) {
    const { told: words, asks, words: about } = happening;
    const at = place();
    const note = (day: string): Note => ({ about, text: language.notesDay(day, words) });
    told.push({ at, says: language.tellsOfToday(words), ...(n < NOTED && { note }) });
    questions.push({ kind: 'time', asks, about, right: dayOf(new Date(FIRST_MS + at * EXCHANGE_MS)), wrong: [] });
  }
  return { told, questions };
}

function factTold(
  language: Language,
  { noun }: Topic,
  { at, value, turn, n }: { at: number; value: string; turn: number; n: number },
): Told {
  const says = turn === 0 ? language.tells(noun, value) : language.tellsAnew(noun, value);
  const note = (): Note => ({ about: noun, text: language.notes(noun, value) });
  return { at, says, ...(n < NOTED && { note }) };
}

function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}

function pick<Item>(random: () => number, items: readonly Item[]): Item {
  return items[randomInt(random, items.length)] as Item;
}

function shuffled<Item>(random: () => number, items: readonly Item[]): Item[] {
  const keyed = items.map((item) => ({ item, key: random() }));
  return keyed.sort((one, other) => one.key - other.key).map(({ item }) => item);
}
