import { hash } from 'node:crypto';
import { isSelfEntered } from '../../../shared/flow/message.ts';
import {
  type Memory,
  type MemoryBook,
  type MemoryChange,
  type MemoryLine,
  SOURCES,
  type Source,
} from '../../../shared/state/memory/book.ts';
import type { Turn } from '../../../shared/state/turn/turn.ts';
import {
  type Toolbox,
  type ToolCall,
  type ToolOutput,
  type ToolSpec,
  toolError,
  toolText,
} from '../../tools/toolbox.ts';
import { CHARS_MAX, hasRoomFor, LINE_CHARS_MAX, LINES_MAX, lineForModel, plainLine } from './memory.ts';

const NAME = 'memory';
/** The maximum number of changes for one message. The answer lists each change, with an undo button. */
const CHANGES_MAX = 20;
const ID_CHARS = 8;

const SPEC: ToolSpec = {
  name: NAME,
  description: `Your notes about this chat, which you have in every later conversation: what people ask you to remember or will want you to know again. No secrets, nothing of the moment. People see each change and can undo it. At most ${LINES_MAX} lines, ${CHARS_MAX} characters.`,
  inputSchema: {
    type: 'object',
    properties: {
      action: { type: 'string', enum: ['remember', 'replace', 'forget', 'list'] },
      text: {
        type: 'string',
        description: `remember, replace: one fact, at most ${LINE_CHARS_MAX} characters.`,
      },
      id: { type: 'string', description: 'replace, forget: the line.' },
      source: {
        type: 'string',
        enum: SOURCES,
        description:
          'Where it is from, unless a person of this chat said it: a page, file or result of a tool, or a forwarded message.',
      },
    },
    required: ['action'],
    additionalProperties: false,
  },
  repeatable: true,
};

type Input = Readonly<Record<string, unknown>>;
type Book = Pick<MemoryBook, 'of' | 'changes' | 'change' | 'expectUnchanged'>;
/** The change of a line; or an error, as a sentence for the model. */
type Plan = Pick<MemoryChange, 'before' | 'after'> | string;

/** The built-in tool `memory`. A call that runs again after a crash has no second effect. */
export function createMemory(book: Book): Toolbox {
  const specs = [SPEC];
  return {
    specs: () => specs,
    async call(call) {
      const { name, input, turn } = call;
      if (name !== NAME) return toolError(`There is no tool ${name} here.`);
      if (input.action === 'list') return listLines(book, turn);
      if (!turn.message.ok) return toolError('The message that asks for it cannot be read.');
      if (isSelfEntered(turn.message.value))
        return toolError(
          'A reminder that is due may list the memory, and not change it: nobody has asked for that now.',
        );
      return change(book, call);
    },
  };
}

async function change(book: Book, call: ToolCall): Promise<ToolOutput> {
  const { turn, input } = call;
  const { entry, currentChat } = turn;
  const step = `memory:${call.id}`;
  const id = hash('sha256', `${entry} ${call.id}`).slice(0, ID_CHARS);
  for (let isDone = turn.hasDone(step); !isDone; ) {
    const memory = await book.of(currentChat);
    const earlier = (await book.changes(currentChat)).filter(({ madeIn }) => madeIn === entry);
    const plan = planOf(memory, input, { id, chat: currentChat, notedAtMs: turn.nowMs(), ...sourceOf(call) });
    if (typeof plan === 'string') return toolError(plan);
    if (plan.before?.text === plan.after?.text && plan.before?.source === plan.after?.source) break;
    if (earlier.length >= CHANGES_MAX)
      return toolError(`${CHANGES_MAX} changes for one message are the most: people could not look through more.`);
    const changes = book.change(memory, { id, madeIn: entry, madeAtMs: turn.nowMs(), chat: currentChat, ...plan });
    isDone = (await turn.write(step, changes, [book.expectUnchanged(memory)])) !== 'unmet';
  }
  return listLines(book, turn);
}

/** The source of a line if the model names none; empty if nothing suggests a source other than a person of the chat. */
function sourceOf({ turn: { message }, hasReadOthers }: ToolCall): { source?: Source } {
  if (message.ok && message.value.forwardedFrom !== undefined) return { source: 'forward' };
  return hasReadOthers ? { source: 'unsure' } : {};
}

/** The change that a call asks for, or an error. `fresh`: a new line, still without its text. Pure. */
export function planOf({ lines }: Pick<Memory, 'lines'>, input: Input, fresh: Omit<MemoryLine, 'text'>): Plan {
  const { action } = input;
  if (action !== 'remember' && action !== 'replace' && action !== 'forget')
    return '"action" must be remember, replace, forget or list.';
  const before = action === 'remember' ? undefined : lines.find(({ id }) => id === input.id);
  if (action !== 'remember' && before === undefined)
    return 'There is no line with this id. "list" shows those that there are.';
  if (action === 'forget') return { before };
  const text = plainLine(typeof input.text === 'string' ? input.text : '');
  if (text === '') return '"text" must say what to remember.';
  if (text.length > LINE_CHARS_MAX) return `"text" has ${text.length} characters; ${LINE_CHARS_MAX} are the most.`;
  const source = sourceIn(input);
  if (source === null) return `"source" must be ${SOURCES.join(' or ')}, or be left out.`;
  const same = lines.find((line) => line.text === text && line !== before);
  if (same !== undefined) return `${same.id} says the same already.`;
  const others = lines.filter((line) => line !== before);
  if (!hasRoomFor(others, text))
    return `The memory is full: ${LINES_MAX} lines and ${CHARS_MAX} characters are the most. Forget what matters least, or say more with fewer words, and tell the person.`;
  // A replaced line keeps its source, or gets that of the call if it had none, unless the model names another: a page's words
  // must not pass for a person's.
  const from = source ?? before?.source ?? fresh.source;
  return { before, after: { ...(before ?? fresh), text, ...(from && { source: from }) } };
}

/** The source that the model names; undefined if none (an empty field counts as absent), null if there is no such source. */
function sourceIn({ source }: Input): Source | undefined | null {
  if (source === undefined || source === null || source === '') return undefined;
  return SOURCES.find((each) => each === source) ?? null;
}

async function listLines(book: Book, { currentChat }: Turn): Promise<ToolOutput> {
  const { lines } = await book.of(currentChat);
  if (lines.length === 0) return toolText('The memory of this chat is empty now.');
  return toolText(`The memory of this chat is now:\n${lines.map(lineForModel).join('\n')}`);
}
