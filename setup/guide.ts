import { askAlertChat } from './alert-chat.ts';
import { askBot } from './bot.ts';
import { askModel } from './model.ts';
import { askOwner } from './owner.ts';
import { advance, nextStep, type Progress, type Step } from './progress.ts';
import { saveAnswers } from './save.ts';
import type { RunStep, SetupPorts } from './step.ts';
import { askTimeZone } from './time-zone.ts';
import { offerUnit } from './unit.ts';
import { askWatchers } from './watchers.ts';

const RUN: Readonly<Record<Step, RunStep>> = {
  bot: askBot,
  owner: askOwner,
  alerts: askAlertChat,
  watchers: askWatchers,
  model: askModel,
  zone: askTimeZone,
  save: saveAnswers,
  unit: offerUnit,
};

/** Goes through every step that is left. `onStep` gets the progress after each. Throws `CancelledError`. */
export async function guide(ports: SetupPorts, begun: Progress, onStep: (progress: Progress) => void): Promise<void> {
  let progress = begun;
  for (let step = nextStep(progress); step !== undefined; step = nextStep(progress)) {
    progress = advance(progress, step, await RUN[step](ports, progress));
    onStep(progress);
  }
}
