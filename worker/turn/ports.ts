import type { SummonsBook } from '../../shared/state/turn/summons.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { BreakerView } from '../../shared/telegram/breaker.ts';
import type { Telegram } from '../../shared/telegram/client.ts';
import type { CommandPorts } from '../command/command.ts';
import type { Lane } from '../lane/lane.ts';
import { type Settings, settingsFor } from '../lane/settings.ts';
import type { Transcriber } from '../media/transcriber.ts';
import { NO_PROGRESS, type ProgressViews } from '../reply/progress.ts';
import { forChat, forGuests, forSummons } from '../tools/toolboxes.ts';

/** The ports of a turn. */
export interface TurnPorts {
  ask: CommandPorts['ask'];
  telegram: Telegram;
  breaker: BreakerView;
  progress: ProgressViews;
  summonses: SummonsBook;
  /** The further ports of commands. */
  commands: Omit<CommandPorts, 'ask'>;
  /** Absent without an endpoint that turns speech into text. */
  transcriber: Transcriber | undefined;
  lane: Pick<Lane, 'behind' | 'depth' | 'refusedNext'>;
}

/**
 * The ports as this chat and sender may use them: with what the operator has set for the chat, and what it has chosen itself;
 * a guest of a group has the tools that the operator gave to guests. In a chat that the bot is not part of, there are fewer still, and nothing
 * is shown before the answer.
 */
export function portsFor(ports: TurnPorts, turn: Turn): TurnPorts {
  const { chatSettings } = turn;
  const settings = settingsFor(ports.ask.settings, chatSettings, chosenModel(ports.ask.settings, turn));
  const tools = forChat(ports.ask.tools, chatSettings);
  if (turn.summons) {
    // What a person has spent is not said among strangers.
    const endpoint = { ...ports.ask.endpoint, budget: undefined };
    const ask = { ...ports.ask, endpoint, settings: { ...settings, rich: 'off' as const }, tools: forSummons(tools) };
    return { ...ports, progress: NO_PROGRESS, ask };
  }
  return { ...ports, ask: { ...ports.ask, settings, tools: turn.isOfGuest ? forGuests(tools) : tools } };
}

/** A chat may use another model than its default, as long as the operator allows that one and the endpoint knows it. */
function chosenModel({ models }: Settings, turn: Turn): string | undefined {
  const { choice } = turn;
  return models.find((model) => model === choice('model') && model !== turn.goneModel);
}
