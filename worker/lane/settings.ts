import type { Effort } from '../model/port.ts';
import type { RoomSettings } from '../model/room.ts';
import type { ServerTool } from '../tools/server-tools.ts';

/** What the operator has set, as turns use it. One value for the process, which never changes while it runs. */
export interface Settings extends RoomSettings {
  modelName: string;
  /** Asked when the first model is in trouble that will pass; never for an overflow. */
  fallbackModel: string | undefined;
  compactionModel: string;
  systemPrompt: string;
  /** What a summary must keep besides the usual, in the operator's words; may be empty. */
  preserve: string;
  /** Whether a summary may read the conversation itself from the provider's cache, where that is cheaper. */
  summariesFromCache: boolean;
  /** How deeply the model thinks; `undefined`: as it does by itself. */
  effort: Effort | undefined;
  /** Tools that the provider runs. */
  serverTools: readonly ServerTool[];
  /** A chat's window is no larger than this, whatever the model's is. */
  contextBudgetTokens: number;
  /** Rounds of tools for one message; after them the model must answer in words. */
  toolRoundsMax: number;
  /** How much text of a tool's result is sent; the rest is kept for the model to read on. */
  toolResultMaxChars: number;
  /** The cap of a text, written or sent as a file. */
  textMaxChars: number;
  timeZone: string;
  /** Known to nobody but us; the codes of message headers are made from it. */
  headerSecret: string;
  maxAttempts: number;
  turnTimeoutMs: number;
  /** How long the recovery of a message may take in all. */
  recoveryTimeoutMs: number;
  /** So long a message waits for an endpoint in trouble, from its first failure; its history may then be to blame. */
  outagePatienceMs: number;
  /** A user whose message waits for longer is notified, once. */
  waitingNoticeMs: number;
  /** How long a summary waits for an endpoint in trouble. */
  summaryPatienceMs: number;
  /** How many shards there are: a chat's keys cannot leave theirs. */
  shards: number;
  /** Whether the words of a message and its reply may be logged. */
  logContent: boolean;
}
