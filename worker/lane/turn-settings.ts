import type { Settings } from '../../shared/base/settings.ts';
import { type ChatSettings, hasTool } from '../../shared/state/chat/chat-settings.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Prices } from '../model/prices.ts';
import type { ServerTool } from '../tools/server-tools.ts';

/** The operator's settings, with the contents of the files that they name. `settingsFor` applies the settings of a chat. */
export interface TurnSettings extends Settings {
  systemPrompt: string;
  /** The operator's text about further details that a summary must contain; may be empty. */
  preserve: string;
  /** The operator's own prices. */
  prices: Prices;
  /** Tools that the provider runs. */
  serverTools: readonly ServerTool[];
}

/** The settings for a chat. Its model is `choice` (made with `/model`), else `chat.model`, else the default model. Pure. */
export function settingsFor(settings: TurnSettings, chat: ChatSettings, choice?: string): TurnSettings {
  const defaultModel = chat.model ?? settings.MODEL;
  const model = choice ?? defaultModel;
  return {
    ...settings,
    MODEL: model,
    MODELS: [...new Set([defaultModel, ...settings.MODELS])],
    // The window that the operator has set applies only to the operator's `MODEL`.
    CONTEXT_WINDOW_TOKENS: model === settings.MODEL ? settings.CONTEXT_WINDOW_TOKENS : undefined,
    systemPrompt: chat.systemPrompt ?? settings.systemPrompt,
    serverTools: settings.serverTools.filter(({ name }) => hasTool(chat, name)),
  };
}

/** The context window that an error of this model and endpoint stated, if any; `undefined` if the operator has set a window. */
export function learntWindow(
  limit: { tokens: number; of: string } | undefined,
  settings: Pick<TurnSettings, 'MODEL' | 'ANTHROPIC_BASE_URL' | 'CONTEXT_WINDOW_TOKENS'>,
): number | undefined {
  if (settings.CONTEXT_WINDOW_TOKENS !== undefined || limit?.of !== limitOwner(settings)) return undefined;
  return limit.tokens;
}

/** Names the model and the endpoint for which a learnt window is valid. */
export function limitOwner({ MODEL, ANTHROPIC_BASE_URL }: Pick<TurnSettings, 'MODEL' | 'ANTHROPIC_BASE_URL'>): string {
  return `${MODEL} ${ANTHROPIC_BASE_URL}`;
}

/** The time zone of a chat: the zone that its people chose, or else the operator's. */
export function timeZoneOf({ choice }: Pick<Turn, 'choice'>, { TZ }: Pick<TurnSettings, 'TZ'>): string {
  return readTimeZone(choice('timezone') ?? '') ?? TZ;
}

/**
 * Finds a time zone by its name, in upper or lower case; undefined if Node does not know the name. Offsets such as +08:00
 * are not accepted, because they ignore daylight saving time. Pure.
 */
export function readTimeZone(name: string): string | undefined {
  if (!/^[a-z][\w+/-]{0,63}$/i.test(name)) return undefined;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}
