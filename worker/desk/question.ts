import { isAlertText } from '../../shared/flow/alert.ts';
import { type ChatKey, parseChatKey } from '../../shared/redis/keys.ts';
import { incidentShownAs } from '../../shared/state/incident/notices.ts';
import { type IncidentReport, readIncidents } from '../report/incidents.ts';
import type { DeskCall, DeskPorts } from './desk.ts';

const CHATS_OFFERED = 8;
/** How alerts name chats, a trace, and at their end the incident. */
const CHAT = /\bchats? (-?\d{1,16}(?:[.@]-?\d{1,16})?)\b/gi;
const TRACE = /\btrace ([\da-f]{32})\b/i;
const ENDED = /(?:\(([^()\n]+)\)\.|（([^（）\n]+)）。)$/m;

/** An alert as it can still be asked about, although its incident may be over and forgotten. */
export interface AskedAlert {
  /** Absent where the book has none of it any more. */
  incident?: IncidentReport;
  /** The chats that it is about, by name; `hasMore`: there are others. */
  chats: readonly string[];
  hasMore: boolean;
  /** The trace of its message. */
  trace?: string;
}

/** The alert that a text answers: by the message that it answers, and by the words of that. Rejects when Redis cannot be reached. */
export async function alertAnswered(ports: DeskPorts, call: DeskCall, messageId: number): Promise<AskedAlert> {
  const { chatId = 0 } = parseChatKey(call.context.attempt.chat) ?? {};
  const words = answered(call);
  const [, ...ended] = ENDED.exec(words) ?? [];
  const name = (await incidentShownAs(ports.redis, { chatId, messageId })) ?? ended.find(Boolean);
  const incident = name === undefined ? undefined : (await readIncidents(ports)).find((each) => each.name === name);
  const known = incident?.chatNames ?? [];
  const trace = incident?.traceId ?? TRACE.exec(words)?.[1];
  return {
    ...(incident && { incident }),
    chats: known.length > 0 ? known : chatsNamed(words),
    hasMore: (incident?.chats ?? 0) > Math.max(1, known.length),
    ...(trace !== undefined && { trace }),
  };
}

/** The chats that are probably meant: those of the alert that is answered, or of the open incidents. */
export async function chatsInQuestion(ports: DeskPorts, call: DeskCall): Promise<string[]> {
  const words = answered(call);
  if (isAlertText(words)) return chatsNamed(words);
  const open = (await readIncidents(ports)).filter(({ isOpen }) => isOpen);
  return [...new Set(open.flatMap(({ chatNames }) => chatNames))].slice(0, CHATS_OFFERED);
}

function answered({ context: { attempt } }: DeskCall): string {
  return (attempt.message.ok && attempt.message.value.answers?.text) || '';
}

/** Pure. */
export function chatsNamed(words: string): ChatKey[] {
  const named = [...words.matchAll(CHAT)].flatMap(([, id = '']) => parseChatKey(id)?.chat ?? []);
  return [...new Set(named)].slice(0, CHATS_OFFERED);
}
