import { expect } from '@jest/globals';
import { EN } from '../../../shared/texts/en.ts';
import { CHAT, eachInWorld, mainCalls, shown, spawn, takeOver, world } from '../../fixture/each-test.ts';
import { nextOutcome, settledOutcomes } from '../../fixture/ledger.ts';
import { variants } from '../../fixture/variants.ts';

const WORDS = Array.from({ length: 200 }, (_, at) => `word ${at}`).join(', ');

eachInWorld({ claude: { deltaDelayMs: 100 } });

/** The moments of a turn that is stopped, in order, and the way in which it is stopped. */
variants([
  ['model called:1', 'button'],
  ['attempt begun:1', 'command'],
  ['answer streaming:1', 'command'],
  ['update received:2', 'button'],
  ['accepted:2', 'command'],
  ['admitted:2', 'button'],
  ['moved to wait:1', 'command'],
  ['attempt begun:2', 'button'],
  ['answer stored:1', 'command'],
  ['part sent:1', 'button'],
  ['settled:1', 'command'],
  ['settled:2', 'button'],
])('killed at "%s" while a %s stops the turn: both have one outcome, and nothing is left running', async (at, way) => {
  world.claude.react(() => ({ do: 'answer', text: WORDS }));
  const victim = await spawn({ SPILLWAY_FAIL_AT: at });
  world.telegram.say(CHAT, 'tell me');
  const hasDraft = world.telegram
    .waitForDraft(CHAT, () => true, 20_000)
    .then(
      () => 'draft',
      () => 'none',
    );
  const first = await Promise.race([hasDraft, victim.ended]);
  // Killed before there was a draft, its user can only write.
  if (way === 'button' && first === 'draft') world.telegram.pressStop(CHAT);
  else world.telegram.say(CHAT, '/stop');
  expect(await victim.ended).toBe('SIGKILL');
  await takeOver();
  await nextOutcome(world, CHAT, 2);
  const outcomes = (await settledOutcomes(world)).map(({ outcome }) => outcome);
  expect(outcomes).toEqual([expect.stringMatching(/^(?:cancelled|answered)$/), 'command']);
  expect(mainCalls().every(({ endedAt }) => endedAt !== undefined)).toBe(true);
  const texts = shown();
  expect(texts.at(-1)).toContain(outcomes[0] === 'cancelled' ? EN.stopped : EN.nothingToStop);
  const unmarked = texts.filter((text) => text.startsWith('word 0') && !text.includes(EN.repeat));
  expect(unmarked.length).toBeLessThanOrEqual(1);
});
