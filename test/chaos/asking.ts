/** Reads the model's ledger: which calls were made for which message, and whether each shows the message as it was. */
import type { ClaudeCall } from '../stand-in/claude/reaction.ts';
import { blocksOf } from '../stand-in/claude/request.ts';
import type { Evidence } from './evidence.ts';
import { ASIDE, type Asked, numberIn, numbersIn, questionOf } from './traffic.ts';

/** A call that shows something else than what was written. */
export interface Strange {
  chatId?: number;
  message?: number;
  seen: string;
}

/** The main calls of each message, in order, and those that show a message wrongly. */
export interface Asking {
  byAsked: ReadonlyMap<Asked, readonly ClaudeCall[]>;
  strange: readonly Strange[];
}

/** Sorts the main calls by what they are about. */
export function askedInOrder({ asked, calls }: Evidence): Asking {
  const byNumber = new Map(asked.map((each) => [each.number, each]));
  const byAsked = new Map<Asked, ClaudeCall[]>();
  const strange: Strange[] = [];
  for (const call of calls) {
    if (call.kind !== 'main' || isProbe(call) || questionOf(call).includes(ASIDE)) continue;
    const found = byNumber.get(numberIn(questionOf(call)) ?? 0);
    if (found === undefined) {
      strange.push({ seen: `call ${call.index} is about nothing that was asked: ${questionOf(call).slice(0, 60)}` });
      continue;
    }
    byAsked.set(found, [...(byAsked.get(found) ?? []), call]);
    const wrong = wrongIn(call, found, byNumber);
    if (wrong) strange.push({ chatId: found.chatId, message: found.number, seen: `call ${call.index}: ${wrong}` });
  }
  return { byAsked, strange };
}

/** A request that holds nothing of any chat asks whether the endpoint works, or takes what every request holds. */
function isProbe(call: ClaudeCall): boolean {
  return call.body.messages.length === 1 && /^(?:This is a test of the connection\.|Say ok\.$)/.test(questionOf(call));
}

/** How many main calls were made beyond the first of each message. */
export function askedAgain({ byAsked }: Asking): number {
  return [...byAsked.values()].reduce((sum, calls) => sum + calls.length - 1, 0);
}

/** The message is asked as it was written, each earlier one stands in the history at most once, and all are of the chat. */
function wrongIn(call: ClaudeCall, found: Asked, byNumber: ReadonlyMap<number, Asked>): string | undefined {
  if (call.violation !== undefined) return undefined;
  if (questionOf(call) !== found.text) return 'the message is not what was written';
  const numbers = call.body.messages
    .filter(({ role }) => role === 'user')
    .flatMap(({ content }) => blocksOf(content))
    .flatMap(({ type, text }) => (type === 'text' ? numbersIn(String(text)) : []));
  const twice = numbers.find((number, index) => numbers.indexOf(number) !== index);
  if (twice !== undefined) return `message ${twice} stands twice in the history`;
  const foreign = numbers.find((number) => byNumber.get(number)?.chatId !== found.chatId);
  return foreign === undefined ? undefined : `message ${foreign} of another chat stands in the history`;
}

/** A call that began while another one of its chat ran. */
export interface Overlap {
  asked: Asked;
  first: ClaudeCall;
  second: ClaudeCall;
}

/** Every pair of calls that ran at once in one chat. */
export function overlapping(byAsked: ReadonlyMap<Asked, readonly ClaudeCall[]>): Overlap[] {
  const all = [...byAsked].flatMap(([asked, calls]) => calls.map((call) => ({ asked, call })));
  return [...Map.groupBy(all, ({ asked }) => asked.chatId).values()].flatMap((ofChat) => {
    const sorted = ofChat.toSorted((a, b) => a.call.at - b.call.at || a.call.index - b.call.index);
    return sorted.flatMap(({ asked, call: second }, index) => {
      const first = sorted[index - 1]?.call;
      const isOver = first === undefined || (first.endedAt ?? Number.POSITIVE_INFINITY) <= second.at;
      return isOver ? [] : [{ asked, first, second }];
    });
  });
}
