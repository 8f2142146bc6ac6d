import { utcTime } from '../../shared/base/utc-time.ts';
import { type ChatKey, parseChatKey } from '../../shared/redis/keys.ts';
import { readActions } from '../../shared/state/process/actions.ts';
import { serverTimeMs } from '../../shared/state/process/process.ts';
import { chatReport, readChat } from '../report/chat.ts';
import { incidentsReport, readIncidents } from '../report/incidents.ts';
import { messageReport, readMessage } from '../report/message.ts';
import { findMessages, type MessageName, TRACE_NAME } from '../report/message-location.ts';
import type { ReportSource } from '../report/report.ts';
import { type Call, withRedis } from './verb.ts';

const ACTIONS_SHOWN = 50;

/** Prints the life of a message. */
export async function message(call: Call): Promise<number> {
  const { words, terminal } = call;
  const [id = ''] = words;
  return withRedis(terminal, async (source) => {
    if (TRACE_NAME.test(id)) terminal.note('looking for the trace, from the newest message back');
    const report = await readMessage(source, await namedMessage(source, id));
    if (!report) throw unknownMessage(id);
    const nowMs = await serverTimeMs(source.redis);
    call.print(report, () => messageReport(report, nowMs));
    return 0;
  });
}

/** Prints the state of a chat. */
export async function chat(call: Call): Promise<number> {
  const chat = chatIn(call.words[0]);
  return withRedis(call.terminal, async (source) => {
    const report = await readChat(source, chat);
    if (!report) throw new Error(`Nothing is known of a chat ${chat}. A chat is its numeric id, as alerts have it.`);
    const nowMs = await serverTimeMs(source.redis);
    call.print(report, () => chatReport(report, nowMs));
    return 0;
  });
}

/** Prints the incidents; the exit code is 1 when one is open. */
export async function incidents(call: Call): Promise<number> {
  return withRedis(call.terminal, async (source) => {
    const all = await readIncidents(source);
    const isOnlyOpen = call.options.open !== undefined;
    const nowMs = await serverTimeMs(source.redis);
    const shown = all.filter(({ isOpen }) => isOpen || !isOnlyOpen);
    call.print(shown, () => incidentsReport(all, nowMs, isOnlyOpen));
    return all.some(({ isOpen }) => isOpen) ? 1 : 0;
  });
}

/** Prints what operators did. */
export async function actions(call: Call): Promise<number> {
  return withRedis(call.terminal, async ({ redis }) => {
    const kept = await readActions(redis, Number(call.options.limit ?? ACTIONS_SHOWN));
    const lines = kept.map(({ atMs, by, deed, target, why }) => {
      return `${utcTime(atMs)}  ${by}  ${deed} ${target}${why === '' ? '' : `  (${why})`}`;
    });
    call.print(kept, () => (lines.length === 0 ? 'No action is on record.' : lines.join('\n')));
    return 0;
  });
}

/** The key of a chat that the declaration of a verb has checked. */
export function chatIn(word = ''): ChatKey {
  return parseChatKey(word)?.chat as ChatKey;
}

/** The one message that an operator named. Throws what to do where there is none, or where there are several. */
export async function namedMessage(source: ReportSource, id: string): Promise<MessageName> {
  const [name, ...others] = await findMessages(source, id);
  if (!name) throw unknownMessage(id);
  if (others.length === 0) return name;
  const all = [name, ...others].map(({ shard, entry }) => `${shard}/${entry}`).join(', ');
  throw new Error(`There are ${others.length + 1} messages ${id}: say which one, ${all}.`);
}

function unknownMessage(id: string): Error {
  return new Error(
    `Nothing is kept of a message ${id}. An id is an entry such as 1700000000000-0, a trace id of 32 hexadecimal digits, or the id of a dead letter; the ledger goes back LEDGER_RETENTION_DAYS, 90 unless it is set.`,
  );
}
