/** The bot is called in a chat that it is not part of, and its process is killed around the first word there. */
import type { Failpoint } from '../../shared/base/failpoint.ts';
import { EN } from '../../shared/texts/en.ts';
import { awaitAgain } from './hearing.ts';
import { type Stage, untilIdle } from './scenario.ts';
import { ASIDE } from './traffic.ts';

/** Somebody who may call, with an own chat that nothing else is said in. */
const CALLER = 77_001;
const ABROAD = -100_777;
export const SUMMONS_ENV = { TELEGRAM_GUESTS: String(CALLER) };
/** What was killed is known to be dead after seconds; then the answer is there, or is on its way to the person. */
const ANSWERED_MS_MAX = 20_000;

/**
 * Two gateways die at the step, each of a call of its own, and a third takes one more. Telegram takes one answer to each:
 * what was noted stands there, and where nobody knows what stands there, the answer comes to the person.
 */
export async function killAroundSummons(stage: Stage, step: Failpoint): Promise<void> {
  const { world, traffic, faults, patienceMs } = stage;
  world.telegram.openChat(CALLER);
  const summon = (at: number) => world.telegram.summon(CALLER, ABROAD, textOf(at));
  const settled = async (): Promise<unknown> => untilIdle(world, Date.now() + patienceMs);
  await faults.during(`killed at ${step}, twice`, ['send', 'overlap'], async () => {
    for (const at of [1, 2]) {
      summon(at);
      if (!(await world.fleet.startDoomed(step, settled()))) throw new Error(`Nobody died at "${step}", time ${at}.`);
    }
  });
  await world.fleet.start();
  summon(3);
  await traffic.pour();
  const isNoted = step === 'summons noted';
  for (const at of [1, 2, 3]) {
    const what = `the answer to call ${at}, once, ${isNoted || at === 3 ? 'where it was made' : 'in private'}`;
    const look = () => placesOf(stage, at).join() === (isNoted || at === 3 ? 'abroad' : 'private');
    await awaitAgain(stage, { what, maxMs: ANSWERED_MS_MAX }, look);
  }
  const left = world.telegram.shownAbroad(ABROAD).filter(({ text }) => text === EN.oneMoment).length;
  await awaitAgain(
    stage,
    { what: 'no more first words than were lost', maxMs: 1_000 },
    () => left === (isNoted ? 0 : 2),
  );
}

const textOf = (at: number): string => `${ASIDE} call ${at}?`;

/** Where the answer to a call stands. */
function placesOf({ world: { telegram } }: Stage, at: number): string[] {
  const there = telegram.shownAbroad(ABROAD).map(({ text }) => ({ text, place: 'abroad' }));
  const own = telegram.shown(CALLER).map(({ text }) => ({ text, place: 'private' }));
  return [...there, ...own].filter(({ text }) => text.includes(textOf(at))).map(({ place }) => place);
}
