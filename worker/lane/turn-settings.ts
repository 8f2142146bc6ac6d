import type { Settings } from '../../shared/base/settings.ts';
import { type ChatSettings, hasTool } from '../../shared/state/chat/chat-settings.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Prices } from '../model/prices.ts';
import type { ServerTool } from '../tools/server-tools.ts';

/** The operator's settings, and what they name. `settingsFor` lays what a chat has over them. */
export interface TurnSettings extends Settings {
  systemPrompt: string;
  /** Things a summary must keep besides the usual, in the operator's own words; may be empty. */
  preserve: string;
  /** The operator's own prices. */
  prices: Prices;
  /** Tools that the provider runs. */
  serverTools: readonly ServerTool[];
}

/**
 * The settings as they are for a chat: its own model is then its default, and `chosen` is the model that it has chosen itself
 * with a command. Pure.
 */
export function settingsFor(settings: TurnSettings, chat: ChatSettings, chosen?: string): TurnSettings {
  const usual = chat.model ?? settings.MODEL;
  const model = chosen ?? usual;
  return {
    ...settings,
    MODEL: model,
    MODELS: [...new Set([usual, ...settings.MODELS])],
    // The operator states it of one model.
    CONTEXT_WINDOW_TOKENS: model === settings.MODEL ? settings.CONTEXT_WINDOW_TOKENS : undefined,
    systemPrompt: chat.systemPrompt ?? settings.systemPrompt,
    serverTools: settings.serverTools.filter(({ name }) => hasTool(chat, name)),
  };
}

/** The window that errors showed, where it is this endpoint's and model's and the operator states no other. */
export function learntWindow(
  limit: { tokens: number; of: string } | undefined,
  settings: Pick<TurnSettings, 'MODEL' | 'ANTHROPIC_BASE_URL' | 'CONTEXT_WINDOW_TOKENS'>,
): number | undefined {
  if (settings.CONTEXT_WINDOW_TOKENS !== undefined || limit?.of !== limitOwner(settings)) return undefined;
  return limit.tokens;
}

/** Whose window an error shows: another endpoint or model has another one. */
export function limitOwner({ MODEL, ANTHROPIC_BASE_URL }: Pick<TurnSettings, 'MODEL' | 'ANTHROPIC_BASE_URL'>): string {
  return `${MODEL} ${ANTHROPIC_BASE_URL}`;
}

/** The zone of a chat's dates and times: the one that its people chose, or else the operator's. */
export function timeZoneOf({ choice }: Pick<Turn, 'choice'>, { TZ }: Pick<TurnSettings, 'TZ'>): string {
  return readTimeZone(choice('timezone') ?? '') ?? TZ;
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
