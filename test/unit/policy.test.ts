import { expect, test } from '@jest/globals';
import type { RecoveryStage } from '../../worker/attempt.ts';
import { nextStep, POLICY, RECOVERIES_MAX, type Step, type Trigger } from '../../worker/recovery/policy.ts';

const STAGES: readonly RecoveryStage[] = ['none', 'compacted', 'fresh', 'scrubbed'];
const TRIGGERS: readonly Trigger[] = ['token', 'fit', 'wire', 'media', 'poison'];
const LENGTH_MAX = 6;

interface State {
  stage: RecoveryStage;
  recoveries: number;
  outputLowered: boolean;
}

interface Move {
  to: State;
  /** What was really done: a step that fails, or that has no room, falls through to the next. */
  effects: readonly Step[];
}

/** What recovery can make of a step. */
function movesFrom(state: State, step: Step): Move[] {
  const move = (stage: RecoveryStage, ...effects: Step[]): Move => ({
    to: { stage, recoveries: state.recoveries + 1, outputLowered: state.outputLowered },
    effects,
  });
  switch (step) {
    case 'compact':
      return [move('compacted', step), move('fresh', step, 'start fresh session')];
    case 'start fresh session':
      return [move('fresh', step)];
    case 'scrub message':
      return [move('scrubbed', step)];
    case 'lower output': {
      const lowered = move(state.stage, step);
      // Without room for a shorter answer it is treated as an input that does not fit.
      return [
        { ...lowered, to: { ...lowered.to, outputLowered: true } },
        ...movesFrom(state, POLICY[state.stage].token),
      ];
    }
    case 'give up':
      return [];
  }
}

/** One way that a message can take: the effects, the stages gone through, and whether it came to its end. */
interface Way {
  effects: readonly Step[];
  stages: readonly RecoveryStage[];
  ended: boolean;
}

/** Every way, for every sequence of failures. */
function* ways(state: State, way: Way): Generator<Way> {
  if (way.stages.length > LENGTH_MAX) {
    yield way;
    return;
  }
  for (const trigger of TRIGGERS) {
    const moves = movesFrom(state, nextStep({ ...state, trigger }));
    if (moves.length === 0) yield { ...way, ended: true };
    for (const { to, effects } of moves)
      yield* ways(to, { ...way, effects: [...way.effects, ...effects], stages: [...way.stages, to.stage] });
  }
}

const fresh = (stage: RecoveryStage): State => ({ stage, recoveries: 0, outputLowered: false });
const everyWay = STAGES.flatMap((stage) => [...ways(fresh(stage), { effects: [], stages: [stage], ended: false })]);

test('the table is the one of the design: a change of it is a decision and not an accident', () => {
  expect(POLICY).toEqual({
    none: {
      token: 'compact',
      fit: 'lower output',
      wire: 'start fresh session',
      media: 'start fresh session',
      poison: 'start fresh session',
    },
    compacted: {
      token: 'start fresh session',
      fit: 'lower output',
      wire: 'start fresh session',
      media: 'start fresh session',
      poison: 'start fresh session',
    },
    fresh: {
      token: 'scrub message',
      fit: 'lower output',
      wire: 'scrub message',
      media: 'give up',
      poison: 'give up',
    },
    scrubbed: { token: 'give up', fit: 'give up', wire: 'give up', media: 'give up', poison: 'give up' },
  });
  expect(RECOVERIES_MAX).toBe(3);
});

test('whatever keeps failing, a message comes to an end, and never after more calls than were promised', () => {
  expect(everyWay.length).toBeGreaterThan(500);
  expect(everyWay.filter(({ ended, stages }) => !ended || stages.length - 1 > RECOVERIES_MAX)).toEqual([]);
});

test('a stage is never gone back to', () => {
  const backwards = everyWay.filter(({ stages }) =>
    stages.some((stage, at) => STAGES.indexOf(stage) < STAGES.indexOf(stages[at - 1] ?? 'none')),
  );
  expect(backwards).toEqual([]);
});

test.each<Step>(['compact', 'start fresh session', 'scrub message', 'lower output'])(
  'a message is never made to "%s" twice: what did not help once is not paid for again',
  (step) => {
    expect(everyWay.filter(({ effects }) => effects.filter((each) => each === step).length > 1)).toEqual([]);
  },
);

test('nobody gives up on the first failure of a message that nothing was tried for', () => {
  for (const trigger of TRIGGERS) expect(nextStep({ ...fresh('none'), trigger })).not.toBe('give up');
});

test('a plain overflow goes through both stages, and then to the message itself', () => {
  const taken: Step[] = [];
  for (const [recoveries, stage] of STAGES.entries())
    taken.push(nextStep({ stage, trigger: 'token', recoveries, outputLowered: false }));
  expect(taken).toEqual(['compact', 'start fresh session', 'scrub message', 'give up']);
});

test('output is lowered once; the second time the input is what does not fit', () => {
  for (const stage of STAGES.slice(0, 3)) {
    expect(nextStep({ ...fresh(stage), trigger: 'fit' })).toBe('lower output');
    expect(nextStep({ ...fresh(stage), trigger: 'fit', outputLowered: true })).toBe(POLICY[stage].token);
  }
});

test('a stage that was stored by a crash before its count does not open a loop', () => {
  for (const stage of STAGES)
    for (const trigger of TRIGGERS)
      for (const recoveries of [RECOVERIES_MAX, RECOVERIES_MAX + 1, Number.POSITIVE_INFINITY])
        expect(nextStep({ stage, trigger, recoveries, outputLowered: false })).toBe('give up');
});
