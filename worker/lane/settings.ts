import { type ChatSettings, hasTool } from '../../shared/state/chat/chat-settings.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { RoomSettings } from '../model/count.ts';
import type { Effort } from '../model/port.ts';
import type { Prices } from '../model/prices.ts';
import type { ServerTool } from '../tools/server-tools.ts';

/** The operator's settings, as turns use them. One value for the process; `settingsFor` makes that of a chat. */
export interface Settings extends RoomSettings {
  modelName: string;
  /** Where the models are asked. */
  endpoint: string;
  /** The window that the operator states for `modelName`, which no error makes smaller; absent where none is stated. */
  statedWindowTokens: number | undefined;
  /** The models that a chat may choose from; the first is the default. */
  models: readonly string[];
  /** Prices that override the listed ones. */
  prices: Prices;
  /** Used when the first model has transient trouble, or declines; never for an overflow. */
  fallbackModel: string | undefined;
  compactionModel: string;
  systemPrompt: string;
  /** Things a summary must keep besides the defaults, in the operator's words; may be empty. */
  preserve: string;
  /** How deeply the model thinks; `undefined`: the model's default. */
  effort: Effort | undefined;
  /** Tools that the provider runs. */
  serverTools: readonly ServerTool[];
  /** A chat's window is no larger than this, whatever the model's window. */
  contextBudgetTokens: number;
  /** Tool rounds for one message; after them the model must answer in words. */
  toolRoundsMax: number;
  /** How many characters of a tool result are sent; the rest is kept for the model to read on. */
  toolResultMaxChars: number;
  /** The cap of a text, typed or sent as a file. */
  textMaxChars: number;
  /** When answers are sent as rich messages. */
  rich: 'auto' | 'off' | 'always';
  /** Whether recordings are turned into text. */
  hears: boolean;
  timeZone: string;
  /** The least time between two times of a reminder that repeats. */
  reminderMinutesMin: number;
  /** Secret to this installation; the codes of message headers are made from it. */
  headerSecret: string;
  /** How long a parked turn waits for a person. */
  approvalTimeoutMs: number;
  maxAttempts: number;
  /** How long a turn may go without any progress. */
  turnTimeoutMs: number;
  /** How long a turn may take in all its attempts; then the words so far are the answer. */
  turnMaxMs: number;
  /** How long the recovery of a message may take in total. */
  recoveryTimeoutMs: number;
  /**
   * How long a message waits for a failing endpoint, from the first failure; after that it fails.
   */
  outagePatienceMs: number;
  /** How long a finished answer waits for a Telegram that is away. */
  telegramPatienceMs: number;
  /** A user whose message waits longer is notified, once. */
  waitingNoticeMs: number;
  /** The wait after the first failure of a kind; later ones grow from it. */
  retryMs: number;
  /** How long after a refusal the same request is sent once more, before the refusal is believed. */
  doubtWaitMs: number;
  /** How long a summary may take, whatever the summariser does. */
  summaryTimeMs: number;
  /** The number of shards: a chat's keys cannot leave theirs. */
  shards: number;
  /** Whether the words of a message and its reply may be logged. */
  logContent: boolean;
}

/**
 * The settings as they are for a chat: its own model is then its default, and `chosen` is the model that it has chosen itself
 * with a command. Pure.
 */
export function settingsFor(settings: Settings, chat: ChatSettings, chosen?: string): Settings {
  const usual = chat.model ?? settings.modelName;
  const modelName = chosen ?? usual;
  return {
    ...settings,
    modelName,
    models: [...new Set([usual, ...settings.models])],
    statedWindowTokens: modelName === settings.modelName ? settings.statedWindowTokens : undefined,
    systemPrompt: chat.systemPrompt ?? settings.systemPrompt,
    serverTools: settings.serverTools.filter(({ name }) => hasTool(chat, name)),
  };
}

/** The window that errors showed, where it is this endpoint's and model's and the operator states no other. */
export function learntWindow(
  limit: { tokens: number; of: string } | undefined,
  settings: Pick<Settings, 'modelName' | 'endpoint' | 'statedWindowTokens'>,
): number | undefined {
  if (settings.statedWindowTokens !== undefined || limit?.of !== limitOwner(settings)) return undefined;
  return limit.tokens;
}

/** The window of the model itself, as far as errors have shown it. */
export function modelWindow(
  windowTokens: number,
  limit: { tokens: number; of: string } | undefined,
  settings: Pick<Settings, 'modelName' | 'endpoint' | 'statedWindowTokens'>,
): number {
  return Math.min(windowTokens, learntWindow(limit, settings) ?? windowTokens);
}

/** Whose window an error shows: another endpoint or model has another one. */
export function limitOwner({ modelName, endpoint }: Pick<Settings, 'modelName' | 'endpoint'>): string {
  return `${modelName} ${endpoint}`;
}

/** The zone of a chat's dates and times: the one that its people chose, or else the operator's. */
export function timeZoneOf({ choice }: Pick<Turn, 'choice'>, { timeZone }: Pick<Settings, 'timeZone'>): string {
  return readTimeZone(choice('timezone') ?? '') ?? timeZone;
}

/**
 * A zone as it is spelled, by its name in any case; undefined where this Node knows none of that name. An offset such
 * as +08:00 follows no changes of the clocks, and is none. Pure.
 */
export function readTimeZone(name: string): string | undefined {
  if (!/^[a-z][\w+/-]{0,63}$/i.test(name)) return undefined;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}
