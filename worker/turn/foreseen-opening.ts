import { chatOf, type EntryId, type LaneKey } from '../../shared/redis/keys.ts';
import { msOf } from '../../shared/redis/stream-id.ts';
import { pendingRecord } from '../ask/open-session.ts';
import { mayBeComment } from '../lane/fragments.ts';
import type { Lane } from '../lane/lane.ts';
import type { Opening } from '../lane/opening.ts';
import { encodeRecord } from '../session/record.ts';
import { waitFor } from './gather.ts';
import type { TurnPorts } from './turn.ts';

/** What an opening is foreseen with. */
export interface ForesightPorts {
  turn: Pick<TurnPorts, 'ask'> & { lane: Pick<Lane, 'nowMs' | 'foreseen'> };
}

/**
 * The record of a plain text that this process knows before its first attempt begins. By then it has waited for messages
 * that are forwarded with it; `begin.lua` looks whether any came. Undefined for everything else.
 */
export async function foreseeOpening(
  { turn: { ask, lane } }: ForesightPorts,
  entry: EntryId,
  at: LaneKey,
  signal: AbortSignal,
): Promise<Opening | undefined> {
  const message = lane.foreseen(entry);
  const chat = chatOf(at);
  if (message === undefined || at !== chat) return undefined;
  const { content, answers } = message;
  if (content.kind !== 'text' || content.files || content.sound) return undefined;
  if (!mayBeComment(message) || answers?.file !== undefined) return undefined;
  await waitFor(ask.settings.commentWaitMs - Math.max(0, lane.nowMs() - msOf(entry)), signal);
  const ground = ask.store.sessions.groundOf(chat);
  if (ground === undefined) return undefined;
  const { timeZone } = ground.facts;
  const choice = (name: string) => (name === 'timezone' && timeZone !== '' ? timeZone : undefined);
  const record = pendingRecord(ask.settings, { chat, entry, choice }, message, content.text);
  return { ...ground, record, line: encodeRecord(record) };
}
