import type { Root } from '../shared/app/process.ts';
import type { CacheSpace } from '../shared/base/cache-space.ts';
import type { RedisClient } from '../shared/redis/connection.ts';
import type { ChatKey, EntryId, Keys } from '../shared/redis/keys.ts';
import type { ChatTable } from '../shared/state/chat/chat-settings.ts';
import type { BreakerView } from '../shared/telegram/breaker.ts';
import type { Blobs } from './blob/blobs.ts';
import type { Discard } from './lane/dispatcher.ts';
import type { Lane } from './lane/lane.ts';
import type { TurnQueue } from './lane/queue.ts';
import type { Share, Slots } from './lane/slots.ts';
import type { TurnSettings } from './lane/turn-settings.ts';
import type { Limits } from './limits.ts';
import type { MediaStore } from './media/store.ts';
import type { Model } from './model/port.ts';
import type { FixedPartsCheck } from './recovery/state.ts';
import type { WindowCache } from './session/held-window.ts';
import type { Toolbox } from './tools/toolbox.ts';
import type { Exclusions } from './tools/toolboxes.ts';

/** The services that all shards of a process share. `startWorker` builds them once. */
export interface ProcessEnv extends Root {
  limits: Limits;
  settings: TurnSettings;
  /** The settings of single chats. */
  chats: ChatTable;
  /** The model client, which records calls, and refuses them while the circuit breaker is open. `createEnv` adds the budget. */
  model: Model;
  /** The tools of MCP servers. `createEnv` adds the gateway's own tools. */
  tools: Toolbox & Exclusions;
  /** Whether Telegram answers. */
  breaker: BreakerView;
  slots: Slots;
  fixedParts: FixedPartsCheck;
  /** Models that refuse thinking blocks once an earlier message has changed, as their errors showed; see `thinkingTrim`. */
  boundModels: Set<string>;
  /** The messages that this process is answering. */
  running: Map<EntryId, ChatKey>;
  /** The memory for the caches of all shards: session windows, and indexes for `recall`. */
  cache: CacheSpace;
  windows: WindowCache;
}

/** The services of one shard. */
export interface ShardEnv extends ProcessEnv {
  keys: Keys;
  /** A connection whose commands wait for Redis to come back, instead of failing. */
  redis: RedisClient;
  /** Absent if Redis itself stores the bytes of files and archives. */
  blobs: Blobs | undefined;
  media: MediaStore;
  lane: Lane;
  queue: TurnQueue;
  discard: Discard;
  /** The shard's share of the slots for turns. */
  share: Share;
  /** Aborts when the process must end; then running turns hand themselves back. */
  ending: AbortSignal;
}
