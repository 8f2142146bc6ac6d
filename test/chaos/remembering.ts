/**
 * Reads what the model was shown of a chat when it was asked for the last time: each turn that was answered must stand
 * there once, in order, with its answer. What shortened it since (a command, an overflow, a cut of Redis's file) is read
 * off the ledgers, too.
 */
import type { ClaudeCall } from '../stand-in/claude/reaction.ts';
import { blocksOf } from '../stand-in/claude/request.ts';
import type { Cut } from './evidence.ts';
import { isAnswered, type Told } from './telling.ts';
import { type Asked, type Mark, marksIn, numberIn, numbersIn } from './traffic.ts';

/** A turn of a conversation, as a request shows it. */
interface ShownTurn {
  number: number;
  /** The parts of answers that stand behind the question, before the next one. */
  marks: readonly Mark[];
  /** Whether the answer is shown without its middle, as a compaction keeps a long one. */
  isShortened: boolean;
}

/** What is remembered wrongly. */
export interface Misremembered {
  asked: Asked;
  seen: string;
}

/** What a chat's memory is judged by. `told` is that chat's own, by update id. */
export interface Memory {
  told: readonly Told[];
  /** The main calls of each message. */
  byAsked: ReadonlyMap<Asked, readonly ClaudeCall[]>;
  /** The calls for summaries of any chat. */
  compactions: readonly ClaudeCall[];
  cut: Cut;
}

/** How a request begins whose earlier part was summarised, set aside, or not loaded. */
const OPENING = /^\[(?:Summary of the earlier conversation|Recovery note|\d+ earlier records)/;
const OVERFLOWS: readonly string[] = ['overflow', 'window', 'fit'];
const SHORTENED = /\[… \d+ characters in all, the middle left out …\]/;
const STARTS_WITH_NUMBER = /^\[m\d{6}\]/;

/** Compares the request of a chat's last question with what its user was answered before. Pure. */
export function misremembered(all: Memory): Misremembered[] {
  const closing = closingOf(all);
  const call = closing && all.byAsked.get(closing)?.findLast(({ violation }) => violation === undefined);
  if (closing === undefined || call === undefined) return [];
  // A `/new` behind the last answered question says nothing about the request of that question.
  const memory = { ...all, told: all.told.slice(0, 1 + all.told.findIndex(({ asked }) => asked === closing)) };
  const shown = turnsIn(call).filter(({ number }) => number !== closing.number);
  const expected = answeredSince(memory, closing);
  const first = OPENING.test(firstText(call)) ? firstExpected(memory, expected, shown) : 0;
  return [
    ...expected.slice(first).flatMap((told) => wrongWith(told, shown, call)),
    ...outOfPlace(memory, closing, shown, call),
  ];
}

/** The last question, or the last that was answered: one that failed may have been asked without any history. */
function closingOf({ told, byAsked }: Memory): Asked | undefined {
  const last = told.at(-1);
  if (last === undefined || isAnswered(last)) return last?.asked;
  return told.findLast((each) => isAnswered(each) && byAsked.has(each.asked))?.asked;
}

/** Questions with what was answered to each. Quotes in a summary or a seed begin with no number, so they are none. */
function turnsIn({ body }: ClaudeCall): ShownTurn[] {
  const turns: { number: number; marks: Mark[]; isShortened: boolean }[] = [];
  for (const { role, content } of body.messages) {
    for (const { type, text } of blocksOf(content)) {
      if (type !== 'text') continue;
      const written = String(text);
      const turn = turns.at(-1);
      if (role === 'assistant' && turn) {
        turn.marks.push(...marksIn(written));
        turn.isShortened ||= SHORTENED.test(written);
      } else if (role === 'user' && STARTS_WITH_NUMBER.test(written)) {
        turns.push({ number: numberIn(written) ?? 0, marks: [], isShortened: false });
      }
    }
  }
  return turns;
}

function firstText({ body }: ClaudeCall): string {
  const [first] = body.messages;
  return String(first ? (blocksOf(first.content)[0]?.text ?? '') : '');
}

/** The index of the last call that explains why the conversation is shorter: an overflow, or one for a summary; -1 for none. */
function lastShortening({ told, byAsked, compactions }: Memory): number {
  const own = new Set(told.map(({ asked }) => asked.number));
  const overflows = told.flatMap(({ asked }) =>
    (byAsked.get(asked) ?? []).filter(({ reaction }) => OVERFLOWS.includes(reaction)),
  );
  const summaries = compactions.filter((call) => {
    const numbers = numbersIn(JSON.stringify(call.body.messages));
    // An imported conversation carries no numbers.
    return numbers.length === 0 || numbers.some((number) => own.has(number));
  });
  return Math.max(-1, ...[...overflows, ...summaries].map(({ index }) => index));
}

/** What begins an empty conversation. */
const begins = ({ asked: { kind } }: Told): boolean => kind === 'new' || kind === 'forget';

/** What the user was answered since the last `/new` or `/forget`, and Redis was not made to forget. */
function answeredSince({ told, cut }: Memory, closing: Asked): Told[] {
  const from = told.findLastIndex((each) => begins(each) && isAnswered(each)) + 1;
  return told
    .slice(from)
    .filter(
      (each) =>
        each.asked !== closing &&
        isAnswered(each) &&
        each.asked.kind !== 'help' &&
        each.asked.kind !== 'stop' &&
        !cut.accepts.has(each.asked.updateId),
    );
}

/** A conversation that was shortened shows its end: from what is shown first, or was answered after the shortening. */
function firstExpected(memory: Memory, expected: readonly Told[], shown: readonly ShownTurn[]): number {
  const since = lastShortening(memory);
  const isShown = (told: Told): boolean => shown.some(({ number }) => number === told.asked.number);
  const isLater = (told: Told): boolean => (memory.byAsked.get(told.asked)?.at(-1)?.index ?? 0) > since;
  const first = expected.findIndex((told) => isShown(told) || isLater(told));
  return first === -1 ? expected.length : first;
}

function wrongWith({ asked, of }: Told, shown: readonly ShownTurn[], { index }: ClaudeCall): Misremembered[] {
  const turns = shown.filter(({ number }) => number === asked.number);
  const [turn] = turns;
  const seen = (what: string) => [{ asked, seen: `call ${index}: ${what}` }];
  if (turn === undefined) return seen('the message was answered, and the conversation does not hold it');
  if (turns.length > 1) return seen(`the message stands ${turns.length} times in the conversation`);
  const parts = turn.marks.map(({ part }) => part);
  const isWhole = (parts.length === of || turn.isShortened) && new Set(parts).size === parts.length;
  const isOwn = turn.marks.every(({ number }) => number === asked.number);
  return isWhole && isOwn ? [] : seen(`behind the message stands ${marksTold(turn)}, not its answer`);
}

function marksTold({ marks }: ShownTurn): string {
  return marks.length === 0 ? 'nothing' : marks.map(({ number, part, of }) => `${number} ${part}/${of}`).join(', ');
}

/** Turns that stand in another order than they were written in, and turns that `/new` put away. */
function outOfPlace(
  { told, cut }: Memory,
  closing: Asked,
  shown: readonly ShownTurn[],
  { index }: ClaudeCall,
): Misremembered[] {
  const renewed = told.findLast((each) => begins(each) && isAnswered(each) && !cut.accepts.has(each.asked.updateId));
  const numbers = shown.map(({ number }) => number);
  const early = numbers.find((number, at) => number < (numbers[at - 1] ?? 0));
  const old = numbers.find((number) => number < (renewed?.asked.number ?? 0));
  return [
    ...(early === undefined ? [] : [`message ${early} stands behind a later one`]),
    ...(old === undefined ? [] : [`message ${old} stands in the conversation that began after it`]),
  ].map((what) => ({ asked: closing, seen: `call ${index}: ${what}` }));
}
