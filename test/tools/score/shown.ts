import { chatKey, type SessionId } from '../../../shared/redis/keys.ts';
import type { MemoryLine } from '../../../shared/state/memory/book.ts';
import { FRAME, snapshotOf } from '../../../worker/features/memory/memory.ts';
import { planOf } from '../../../worker/features/memory/tool.ts';
import type { MessageParam } from '../../../worker/model/port.ts';
import { buildSeed } from '../../../worker/recovery/seed.ts';
import { compact } from '../../../worker/recovery/window-compaction.ts';
import { encodeRecord, type LogRecord, textOf } from '../../../worker/session/record.ts';
import { createSessions, SEED_READ_BYTES_MAX } from '../../../worker/session/store.ts';
import { view, type Window } from '../../../worker/session/view.ts';
import type { Toolbox } from '../../../worker/tools/toolbox.ts';
import { givenLog } from '../../fixture/archived-session.ts';
import { ask, type ChatHistory } from '../../fixture/chat-history.ts';
import { compactionBy } from '../../fixture/compaction.ts';
import { STAMP } from '../../fixture/records.ts';
import { scripted } from '../../fixture/scripted-model.ts';
import { askedIn, type Chat, type Note, type Question } from './chat.ts';

/** What the model is given for a question: each way has all that the one before it has, but for the first. */
export const WAYS = ['after compaction', 'fresh session', '+ recall', '+ memory'] as const;
export type Way = (typeof WAYS)[number];

/** A window that such a chat outgrows. */
const WINDOW_TOKENS = 64_000;
/** As `seedTokensMax` has it for this window. */
const SEED_TOKENS = WINDOW_TOKENS * 0.1;
const BOUNDARY = 'b0undary';
/** No fact stands in it: what counts is what is kept whatever the summariser is good for. */
const SUMMARY =
  'They talked about many things of everyday life, one after the other, as people do who have known each other for long. ' +
  'Most of it was settled there and then. Nothing is open, and nothing was promised that is not done yet.';
const CHAT = chatKey(1);

/** Treats a chat in each way, and returns what is shown for a question after that. */
export async function treated(
  history: ChatHistory,
  recall: Toolbox,
  chat: Chat,
  name: string,
): Promise<(question: Question) => Promise<Record<Way, string>>> {
  const compacted = await compactedWindow(chat.records);
  const { window: fresh, session } = await freshWindow(history, chat.records, name);
  const memory = withNotes('', chat);
  return async (question) => {
    const seed = shownIn(fresh, question);
    const recalled = [seed, (await ask(recall, { query: question.asks }, session)).text].join('\n');
    return {
      'after compaction': shownIn(compacted, question),
      'fresh session': seed,
      '+ recall': recalled,
      '+ memory': [memory, recalled].join('\n'),
    };
  };
}

/** A system prompt with what the model of a chat has noted. */
export function withNotes(system: string, { notes }: Chat): string {
  const memory = snapshotOf({ lines: linesOf(notes) }, WINDOW_TOKENS);
  return `${system}

${FRAME}

${memory}`;
}

/** The messages of the request in which a question is asked. */
export function messagesOf(window: Window, question: Question): MessageParam[] {
  return view({ ...window, records: [...window.records, askedIn(question)] });
}

/** The text of that request. */
export function shownIn(window: Window, question: Question): string {
  return messagesOf(window, question)
    .map(({ content }) => textOf(content as Parameters<typeof textOf>[0]))
    .join('\n');
}

/** Stage 1, by a summariser that says nothing. */
async function compactedWindow(records: readonly LogRecord[]): Promise<Window> {
  const window = { head: undefined, records, omitted: 0 };
  const options = compactionBy(scripted(SUMMARY), { limitTokens: WINDOW_TOKENS, boundary: BOUNDARY });
  const result = await compact(window, options, new AbortController().signal);
  if (!result.ok) throw new Error(`not compacted: ${result.reason}`);
  const { head, changes } = result;
  return { head, records: [...records.slice(head.records), ...changes], omitted: 0 };
}

/** Stage 2: the chat is the parent of a session that a seed opens. */
export async function freshWindow(
  { redis, keys }: ChatHistory,
  records: readonly LogRecord[],
  name: string,
  tokensMax = SEED_TOKENS,
) {
  const [parent, session] = [`s-${name}-old` as SessionId, `s-${name}` as SessionId];
  await givenLog(redis, keys, parent, { lines: records.map(encodeRecord), about: { closedBy: session } });
  const tail = await createSessions(redis, keys).tail(parent, SEED_READ_BYTES_MAX);
  const text = buildSeed({
    records: tail.records,
    total: records.length,
    pending: '',
    channel: 'private chat',
    boundary: BOUNDARY,
    tokensMax,
    because: 'outgrown',
  });
  const head: LogRecord = { ...STAMP, t: 'seed', text, parent, records: records.length };
  const about = { parent, head: 0, windowStart: 1 };
  await givenLog(redis, keys, session, { lines: [encodeRecord(head)], about });
  return { window: { head, records: [], omitted: 0 } satisfies Window, session };
}

/** The memory of a model that does as it is asked: it writes a line, and writes it anew when the person says otherwise. */
export function linesOf(notes: readonly Note[]): readonly MemoryLine[] {
  return notes.reduce((lines: readonly MemoryLine[], { about, text }, notedAtMs) => {
    const action = lines.some(({ id }) => id === about) ? 'replace' : 'remember';
    const plan = planOf({ lines }, { action, id: about, text }, { id: about, chat: CHAT, notedAtMs });
    if (typeof plan === 'string' || plan.after === undefined) return lines;
    return [...lines.filter((line) => line !== plan.before), plan.after];
  }, []);
}
