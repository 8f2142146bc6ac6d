import { expect, test } from '@jest/globals';
import { EN } from '../../../shared/texts/en.ts';
import { until } from '../../chaos/scenario.ts';
import { runCli } from '../../fixture/cli.ts';
import { eachInWorld, hold, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { ABROAD, abroad, answers, CALLER, GUEST_ENV, HERE, IN_PRIVATE, noted, summon } from '../../fixture/summons.ts';
import { isAway } from '../../fixture/telegram-away.ts';
import { variants } from '../../fixture/variants.ts';
import { type Failure, OUTAGES } from '../../stand-in/telegram/failures.ts';

eachInWorld({ env: GUEST_ENV });

const TROUBLE: readonly Failure[] = [
  { status: 502, description: 'Bad Gateway' },
  { do: 'html502' },
  { do: 'hang' },
  { do: 'loseReply' },
  { do: 'withholdReply' },
  { status: 429, description: 'Too Many Requests: retry after 1', parameters: { retry_after: 1 } },
];

variants(TROUBLE)('the edit meets %j, twice: it is made again, and the answer stands there once', async (failure) => {
  answers('**A lane** keeps order.');
  world.telegram.fail('editMessageText', failure, 2);
  await start();
  summon();
  expect(await nextOutcome(world, HERE)).toMatchObject({ outcome: 'answered', delivery: { confirmed: 1, unsure: 0 } });
  expect(world.telegram.shownAbroad(ABROAD)).toMatchObject([
    { text: 'A lane keeps order.', entities: [{ type: 'bold' }] },
  ]);
  expect([shown(CALLER), mainCalls().length]).toEqual([[], 1]);
});

variants(TROUBLE.filter((failure) => !('do' in failure) || !/Reply/.test(failure.do)))(
  'the first word meets %j: a worker puts the answer there itself',
  async (failure) => {
    answers();
    world.telegram.fail('answerGuestQuery', failure, 2);
    await start();
    summon();
    expect(await nextOutcome(world, HERE)).toMatchObject({ outcome: 'answered' });
    expect([abroad(), shown(CALLER), mainCalls().length]).toEqual([['It is a lane.'], [], 1]);
  },
);

variants(OUTAGES)(
  'Telegram away (%s) when the answer is ready: it is edited in when it is back, and not sent',
  async (how) => {
    const answer = hold('It is a lane.');
    await start();
    summon();
    await world.telegram.waitAbroad(ABROAD, EN.oneMoment);
    await noted();
    await world.telegram.goAway(how);
    answer();
    await until('the breaker is open', isAway);
    await world.telegram.comeBack();
    expect(await nextOutcome(world, HERE)).toMatchObject({
      outcome: 'answered',
      delivery: { confirmed: 1, unsure: 0 },
    });
    expect([abroad(), shown(CALLER), mainCalls().length]).toEqual([['It is a lane.'], [], 1]);
  },
);

test('Telegram away for too long: put back by the operator, the answer is edited into what stands there', async () => {
  const answer = hold('It is a lane.');
  await start({ TELEGRAM_PATIENCE_MS: '1000' });
  summon();
  await world.telegram.waitAbroad(ABROAD, EN.oneMoment);
  await noted();
  await world.telegram.goAway('page');
  answer();
  expect(await nextOutcome(world, HERE)).toMatchObject({ outcome: 'failed', reason: 'telegram_away' });
  await world.telegram.comeBack();
  const [letter = ''] = /\d{10,}-\d+/.exec((await runCli(['dead', 'list'], world.env)).stdout) ?? [];
  expect((await runCli(['dead', 'replay', letter], world.env)).code).toBe(0);
  expect(await nextOutcome(world, HERE, 2)).toMatchObject({ outcome: 'answered' });
  expect([abroad(), shown(CALLER), mainCalls().length]).toEqual([['It is a lane.'], [], 1]);
});

test('the reply to the first word is lost: nobody knows its id, and the answer comes to the person', async () => {
  answers();
  world.telegram.openChat(CALLER);
  world.telegram.fail('answerGuestQuery', { do: 'loseReply' });
  await start();
  summon();
  expect(await nextOutcome(world, HERE)).toMatchObject({ outcome: 'answered' });
  expect([abroad(), shown(CALLER)]).toEqual([[EN.oneMoment], [IN_PRIVATE, 'It is a lane.']]);
});

test('a Redis that takes nothing for a moment does not lose what stands there', async () => {
  answers();
  world.telegram.fail('answerGuestQuery', { do: 'slow', ms: 300 });
  await start();
  summon();
  await world.telegram.waitForCall(({ method }) => method === 'answerGuestQuery');
  await world.peek.config('SET', 'maxmemory', '1');
  try {
    await world.telegram.waitForCall(({ method, endedAt }) => method === 'answerGuestQuery' && endedAt !== undefined);
    await until('a note was refused', async () => /noeviction|errorstat_OOM/.test(await world.peek.info('errorstats')));
  } finally {
    await world.peek.config('SET', 'maxmemory', '0');
  }
  expect(await nextOutcome(world, HERE)).toMatchObject({ outcome: 'answered' });
  expect([abroad(), shown(CALLER)]).toEqual([['It is a lane.'], []]);
});
