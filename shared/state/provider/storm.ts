import { join } from 'node:path';
import type { RedisClient } from '../../redis/connection.ts';
import { type ChatKey, type EntryId, keysOf } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';

/** When many overflows are a storm, and how the gateway gets through it. */
export interface StormLimits {
  /** This many chats within five minutes. */
  stormChats: number;
  /** How long a chat waits before it asks again whether it may continue. */
  stormWaitMs: number;
  /** How long no chat is tried after a probe that was not answered; doubles, up to five minutes. */
  stormRestMs: number;
}

const WITHIN_MS = 300_000;
const PROBE_MS = 180_000;
const PROBES_MIN = 2;
const CALM_MS = 600_000;
const REST_MS_MAX = 300_000;

/** The storm of the whole installation. Each method is one atomic script, and rejects when Redis cannot be reached. */
export function stormState(redis: RedisClient, { stormChats, stormRestMs }: StormLimits) {
  const { overflows, storm, alerts } = keysOf(0);
  const script = <Reply>(name: string) => bindScript<Reply>(redis, join(import.meta.dirname, `${name}.lua`));
  const enter = script<'go' | 'probe' | 'wait'>('enter-storm');
  const endProbe = script<0 | 1>('end-probe');
  return {
    /** Records that a chat overflowed: whether its message may go on, as the one probe of a storm, or has to wait. */
    enter: ({ chat, entry }: { chat: ChatKey; entry: EntryId }, alert: string): Promise<'go' | 'probe' | 'wait'> =>
      enter([overflows, storm, alerts], [chat, entry, WITHIN_MS, stormChats, PROBE_MS, alert]),
    /** Records how the message of a probe ended; `over` is the alert of the storm's end. */
    endProbe: (entry: EntryId, isAnswered: boolean, over: string): Promise<0 | 1> =>
      endProbe([storm, alerts], [entry, isAnswered ? '1' : '', PROBES_MIN, CALM_MS, stormRestMs, REST_MS_MAX, over]),
  };
}
