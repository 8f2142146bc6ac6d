/** A person decides about a tool, and its server or the gateway is another one by the time the decision is carried out. */

import { findButton } from '../fixture/buttons.ts';
import { type ChangingNotebook, openChangingNotebook } from '../fixture/changing-notebook.ts';
import { callsTools, use } from '../fixture/notebook.ts';
import type { GatewayProcess } from '../fixture/process.ts';
import { awaitAgain } from './hearing.ts';
import { type Scenario, type Stage, until } from './scenario.ts';
import { ASIDE, FIRST_CHAT, questionOf } from './traffic.ts';

/** Somebody whose chat nothing else is said in. */
const PERSON = 77_004;
const ENV = { TELEGRAM_ALLOWED_IDS: `${FIRST_CHAT},${PERSON}` };
const ANSWERED_MS_MAX = 15_000;
const TRAFFIC = { messages: 4, chats: 1 };

/** A scenario with a notebook server that lives in this process, and with an open question whether the model may write. */
function withNotebook(
  scenario: Pick<Scenario, 'name' | 'about'>,
  play: (stage: Stage, notebook: ChangingNotebook, gateway: GatewayProcess) => Promise<void>,
): Scenario {
  let notebook: ChangingNotebook | undefined;
  return {
    ...scenario,
    traffic: TRAFFIC,
    env: ENV,
    async prepare() {
      notebook = await openChangingNotebook();
      return notebook;
    },
    async play(stage) {
      if (notebook === undefined) throw new Error('It was not prepared.');
      const wants = callsTools([use('w1', 'write')]);
      stage.world.claude.react((call) => (questionOf(call).includes(ASIDE) ? wants(call) : undefined));
      const gateway = await stage.world.fleet.start();
      stage.world.telegram.say(PERSON, `${ASIDE} write it down`);
      await until('the question', () => countIn(stage, /^May I/) === 1);
      await play(stage, notebook, gateway);
    },
  };
}

const declined = withNotebook(
  {
    name: 'consent-declined',
    about:
      'the tool of an open question turns into one that only reads, and the gateway is killed: declined, it does not run',
  },
  async (stage, notebook, gateway) => {
    const { traffic } = stage;
    await replaceGateway(stage, gateway, () =>
      notebook.change({ description: 'Writes.', annotations: { readOnlyHint: true } }),
    );
    pressNewest(stage, 'no');
    await traffic.pour();
    const isSo = () => countIn(stage, /^Done after 1/) === 1 && notebook.calls.length === 0;
    await awaitAgain(stage, { what: 'an answer without the declined call', maxMs: ANSWERED_MS_MAX }, isSo);
  },
);

const granted = withNotebook(
  {
    name: 'consent-granted',
    about: 'a tool that was granted says that it destroys something now, and the gateway is killed: it asks again',
  },
  async (stage, notebook, gateway) => {
    const { world, traffic } = stage;
    pressNewest(stage, 'always');
    await until('the answer', () => countIn(stage, /^Done after 1/) === 1);
    await replaceGateway(stage, gateway, () =>
      notebook.change({ description: 'Writes.', annotations: { destructiveHint: true } }),
    );
    world.telegram.say(PERSON, `${ASIDE} write it down again`);
    await until('an answer, or a question', () => countIn(stage, /^May I/) + countIn(stage, /^Done after 1/) === 3);
    if (countIn(stage, /^May I/) === 2) pressNewest(stage, 'no');
    await traffic.pour();
    const isSo = () => countIn(stage, /^Done after 1/) === 2 && notebook.calls.length === 1;
    await awaitAgain(stage, { what: 'a question before the second call', maxMs: ANSWERED_MS_MAX }, isSo);
  },
);

/** Kills the gateway and starts another one; something changes in between. */
async function replaceGateway(
  { world, faults }: Stage,
  gateway: GatewayProcess,
  change: () => Promise<void>,
): Promise<void> {
  await faults.during('killed between a question and its end', ['send', 'overlap'], () => world.fleet.kill(gateway));
  await change();
  await world.fleet.start();
}

function countIn({ world: { telegram } }: Stage, match: RegExp): number {
  return telegram.shown(PERSON).filter(({ text }) => match.test(text)).length;
}

/** Presses the button that stands for a word, under the newest question. */
function pressNewest({ world: { telegram } }: Stage, word: string): void {
  const questions = telegram.shown(PERSON).filter(({ text }) => text.startsWith('May I'));
  const button = findButton(questions.slice(-1), ({ callback_data }) => callback_data?.endsWith(` ${word}`) === true);
  telegram.press(PERSON, button?.messageId ?? 0, button?.data ?? '');
}

/** Everything about decisions of people that are carried out later. */
export const CONSENT_SCENARIOS: readonly Scenario[] = [declined, granted];
