import type { BreakerView } from '../../shared/telegram/breaker.ts';
import type { Telegram } from '../../shared/telegram/client.ts';
import type { CommandPorts } from '../command/command.ts';
import { type Attempt, isOfGuest } from '../lane/attempt.ts';
import type { Lane } from '../lane/lane.ts';
import type { Settings } from '../lane/settings.ts';
import type { Transcriber } from '../media/transcriber.ts';
import type { ProgressViews } from '../reply/progress.ts';
import { forGuests } from '../tools/toolboxes.ts';

/** The ports of a turn. */
export interface TurnPorts {
  ask: CommandPorts['ask'];
  telegram: Telegram;
  breaker: BreakerView;
  progress: ProgressViews;
  /** The further ports of commands. */
  commands: Omit<CommandPorts, 'ask'>;
  /** Absent without an endpoint that turns speech into text. */
  transcriber: Transcriber | undefined;
  lane: Pick<Lane, 'behind' | 'conclusionOf' | 'depth' | 'refusedBehind'>;
}

/** The ports as this chat and sender may use them: a guest of a group has the tools that only read. */
export function portsFor(ports: TurnPorts, attempt: Attempt): TurnPorts {
  const { tools } = ports.ask;
  const settings = withChosenModel(ports.ask.settings, attempt);
  return { ...ports, ask: { ...ports.ask, settings, tools: isOfGuest(attempt) ? forGuests(tools) : tools } };
}

/** A chat may use another model than the default, as long as the operator allows that one and the endpoint knows it. */
function withChosenModel(settings: Settings, attempt: Attempt): Settings {
  const modelName = attempt.choice('model') ?? settings.modelName;
  if (modelName === settings.modelName || !settings.models.includes(modelName)) return settings;
  if (attempt.turn.goneModel === modelName) return settings;
  return { ...settings, modelName, statedWindowTokens: undefined };
}
