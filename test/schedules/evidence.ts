import type { Redis } from 'ioredis';
import type { Alert } from '../../shared/flow/alert.ts';
import { chatKey, type EntryId, INBOUND_GROUP, type SessionId } from '../../shared/redis/keys.ts';
import type { OutcomeRecord } from '../../shared/state/lane/record-streams.ts';
import type { Ground } from './ground.ts';

/** What Redis holds when a schedule is at rest. */
export interface Evidence {
  readonly outcomes: readonly OutcomeRecord[];
  /** Entries of which an edit took the place. */
  readonly edited: ReadonlySet<EntryId>;
  /** Entries that are still on the stream, and of these, those that were admitted. */
  readonly entries: number;
  readonly pending: number;
  readonly lanes: readonly string[];
  readonly suspects: number;
  readonly accepted: number;
  readonly settled: number;
  /** Entries of whose answer an alert says that it may be missing: it was sent twice, each time without a result. */
  readonly unsure: ReadonlySet<EntryId | undefined>;
  /** The causes of other alerts. */
  readonly alerts: readonly string[];
  /** The words of each conversation, in order. */
  readonly logs: ReadonlyMap<number, string>;
}

type Reply = [string[], number, number, string[], number, [string, string], string[], string[], EntryId[]];

/** All in one step: a schedule takes not much longer than a reading in many. */
const READ = `
local function fields_of(stream, name)
  local found = {}
  for _, entry in ipairs(redis.call('XRANGE', stream, '-', '+')) do
    for at = 1, #entry[2], 2 do
      if entry[2][at] == name then
        found[#found + 1] = entry[2][at + 1]
      end
    end
  end
  return found
end
local logs = {}
for at = 7, #KEYS do
  local session = redis.call('HGET', KEYS[at], 'session')
  logs[#logs + 1] = table.concat(session and redis.call('LRANGE', ARGV[2] .. session, 0, -1) or {}, ' ')
end
local records, edited = fields_of(KEYS[1], 'record'), {}
for _, record in ipairs(records) do
  local entry = cjson.decode(record).entry
  if redis.call('HEXISTS', ARGV[3] .. entry, 'edited') == 1 then
    edited[#edited + 1] = entry
  end
end
return {
  records, redis.call('XLEN', KEYS[2]), redis.call('XPENDING', KEYS[2], ARGV[1])[1],
  redis.call('SMEMBERS', KEYS[3]), redis.call('ZCARD', KEYS[4]), redis.call('HMGET', KEYS[5], 'accepted', 'settled'),
  fields_of(KEYS[6], 'alert'), logs, edited,
}`;

/** Reads what a schedule left. */
export async function readEvidence({ redis, keys }: Ground, chats: readonly number[]): Promise<Evidence> {
  const { outcomes, inbound, lanes, poisonCandidates, counts, alerts } = keys;
  const at = [outcomes, inbound, lanes, poisonCandidates, counts, alerts, ...chats.map((id) => keys.chat(chatKey(id)))];
  const run = scriptOf(redis);
  const reply = (await run.call(
    redis,
    at.length,
    ...at,
    INBOUND_GROUP,
    keys.log('' as SessionId),
    keys.turnPrefix,
  )) as Reply;
  const [records, entries, pending, laneNames, suspects, [accepted, settled], alarms, logs, edited] = reply;
  const all = alarms.map((alert) => JSON.parse(alert) as Alert);
  return {
    outcomes: records.map((record) => JSON.parse(record) as OutcomeRecord),
    edited: new Set(edited),
    ...{ entries, pending, lanes: laneNames, suspects },
    accepted: Number(accepted ?? 0),
    settled: Number(settled ?? 0),
    unsure: new Set(all.filter(({ cause }) => cause === 'unsure').map(({ entry }) => entry)),
    alerts: all.map(({ cause }) => cause).filter((cause) => cause !== 'unsure'),
    logs: new Map(chats.map((chat, nth) => [chat, logs[nth] ?? ''])),
  };
}

type Run = (...args: unknown[]) => Promise<unknown>;

function scriptOf(redis: Redis): Run {
  const methods = redis as unknown as Record<string, Run>;
  if (methods.readEvidence === undefined) redis.defineCommand('readEvidence', { lua: READ });
  return methods.readEvidence as Run;
}
