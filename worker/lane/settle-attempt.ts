import { type EntryId, INBOUND_GROUP, type Keys, type LaneKey } from '../../shared/redis/keys.ts';
import type { RunScript } from '../../shared/redis/script.ts';
import type { Attempt } from './attempt.ts';
import type { OutcomeRecord } from './lane.ts';

/** How long a turn is kept once its message has ended. */
export const TURN_KEEP_SECONDS = 3600;

/** The reply of `settle.lua`. */
export type SettleReply = ['settled' | 'repeated' | 'fenced', head: EntryId | '', traceparent: string, lane: LaneKey];

/** Settles a message after all writes of its attempt: runs `settle.lua`, and names the lane's next head. */
export async function settleAttempt(
  settle: RunScript<SettleReply>,
  keys: Keys,
  attempt: Attempt,
  {
    record,
    also,
    keepsAnswer,
    idleSeconds,
  }: { record: OutcomeRecord; also: readonly OutcomeRecord[]; keepsAnswer: boolean; idleSeconds: number },
) {
  const { entry, lane, chat, fencingToken, session } = attempt;
  const at = [
    keys.inbound,
    keys.lane(lane),
    keys.lanes,
    keys.turn(entry),
    keys.outcomes,
    keys.dead,
    keys.counts,
    keys.poisonCandidates,
    keys.chat(chat),
    keys.absent,
    keys.session(session),
    keys.log(session),
  ];
  const argsAfter = (lastWrite: number) => [
    entry,
    lane,
    fencingToken,
    INBOUND_GROUP,
    record.outcome,
    JSON.stringify(record),
    idleSeconds,
    TURN_KEEP_SECONDS,
    lastWrite,
    keys.lanePrefix,
    keys.turnPrefix,
    keepsAnswer ? 1 : '',
    ...also.flatMap((each) => [each.entry, JSON.stringify(each)]),
  ];
  const reply = await attempt.afterWrites((lastWrite) => settle(at, argsAfter(lastWrite)));
  const [result, head, traceparent, next] = reply;
  return { result, ...(head !== '' && { next: { entry: head, chat: next, traceparent } }) };
}
