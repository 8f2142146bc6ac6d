import { expect, test } from '@jest/globals';
import { eachWithNotebook, notebook } from '../../fixture/each-notebook.ts';
import { mainCalls, moveToWorld, shown, start, world } from '../../fixture/each-test.ts';
import { conversation, isProbe } from '../../fixture/history.ts';
import { callsTools, resultsIn, use } from '../../fixture/notebook.ts';
import { alerts, ask, expectWhole, givenExchanges, givenLines, summaries } from '../../fixture/whole-chat.ts';
import { LIES } from '../../stand-in/claude/lies.ts';

eachWithNotebook();

test('an endpoint that goes away before a summary and comes back: the conversation is summarised, and goes on', async () => {
  await moveToWorld({ claude: { windowTokens: 20_000 } });
  await start();
  const session = await givenLines(conversation(60, 1_000));
  let failures = 0;
  // From the first summary on nobody is answered, until six calls have failed.
  world.claude.react(({ kind }) => {
    if (failures === 6 || (failures === 0 && kind === 'main')) return undefined;
    failures++;
    return LIES.overloaded;
  });
  expect(await ask('What did we decide?')).toMatchObject({ outcome: 'answered', session });
  expect(failures).toBe(6);
  expect(summaries().at(-1)?.status).toBe(200);
  expect(shown().join('\n')).not.toMatch(/started a new one/);
  expect(alerts().join('\n')).not.toMatch(/fresh session/);
  expect(await ask('And now?', 2)).toMatchObject({ outcome: 'answered', session });
  expect(world.claude.violations()).toEqual([]);
});

test('an outage longer than OUTAGE_PATIENCE_MS after a tool returned takes nothing from the turn, and blames nothing', async () => {
  await start({ OUTAGE_PATIENCE_MS: '300' });
  const session = await givenExchanges();
  let failures = 0;
  world.claude.react(callsTools([use('t1', 'look', { text: 'the page' })]));
  world.claude.react((made) => {
    const isAway = failures < 5 && (isProbe(made) || resultsIn(made).length > 0);
    failures += isAway ? 1 : 0;
    return isAway ? LIES.overloaded : undefined;
  });
  const { outcome } = await ask('Look it up');
  expect(outcome).toMatch(/^(?:answered|failed)$/);
  failures = Number.POSITIVE_INFINITY;
  const texts = outcome === 'answered' ? ['Done after 1 rounds.'] : [expect.stringMatching(/couldn't answer just now/)];
  expect(shown()).toEqual(texts);
  const after = mainCalls().filter((made) => resultsIn(made).length > 0);
  for (const made of after) expect(JSON.stringify(resultsIn(made))).toContain('look: the page');
  await expectWhole(session, 2);
  expect(await notebook.notes()).toEqual(['look the page']);
});
