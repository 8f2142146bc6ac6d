import { expect, test } from '@jest/globals';
import type { RecoveryStage } from '../../../../worker/lane/attempt.ts';
import {
  asksForBlame,
  isOfSize,
  nextStep,
  POLICY,
  RECOVERIES_MAX,
  type Step,
  type Trigger,
} from '../../../../worker/recovery/policy.ts';

const STAGES: readonly RecoveryStage[] = ['none', 'compacted', 'fresh', 'bare', 'scrubbed'];
const TRIGGERS: readonly Trigger[] = ['token', 'fit', 'wire', 'media', 'poison', 'refusal', 'unknown', 'output'];
const LENGTH_MAX = 5;

interface State {
  stage: RecoveryStage;
  recoveries: number;
  tried: readonly Trigger[];
}

interface Move {
  to: State;
  /** What was really done: a step that fails, or finds nothing to do, falls through to the next. */
  effects: readonly Step[];
}

/** What recovery can make of a step. */
function movesFrom(state: State, step: Step, trigger: Trigger): Move[] {
  const move = (stage: RecoveryStage, ...effects: Step[]): Move => ({
    to: { stage, recoveries: state.recoveries + 1, tried: state.tried },
    effects,
  });
  switch (step) {
    case 'compact':
      return [move('compacted', step), move('fresh', step, 'start fresh session')];
    case 'start fresh session':
      return [move('fresh', step)];
    case 'try without history': {
      // The check of the fixed parts is a call, too, unless its answer is known.
      const known = move('fresh', step, 'start fresh session');
      return [known, { ...known, to: { ...known.to, recoveries: known.to.recoveries + 1 } }];
    }
    case 'start bare session':
      return [move('bare', step)];
    case 'scrub message':
      return [move('scrubbed', step)];
    case 'remove turn':
    case 'give up':
      return [];
    default: {
      const own = move(state.stage, step);
      return [
        { ...own, to: { ...own.to, tried: [...state.tried, trigger] } },
        ...movesFrom(state, POLICY[state.stage][trigger], trigger),
      ];
    }
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
    const moves = movesFrom(state, nextStep({ ...state, trigger }), trigger);
    if (!moves.length) yield { ...way, ended: true };
    for (const { to, effects } of moves)
      yield* ways(to, { ...way, effects: [...way.effects, ...effects], stages: [...way.stages, to.stage] });
  }
}

const fresh = (stage: RecoveryStage): State => ({ stage, recoveries: 0, tried: [] });
const everyWay = STAGES.flatMap((stage) => [...ways(fresh(stage), { effects: [], stages: [stage], ended: false })]);

const OWN: Readonly<Partial<Record<Trigger, Step>>> = {
  fit: 'lower output',
  wire: 'scrub largest',
  media: 'scrub media',
  poison: 'drop thinking',
  output: 'raise output',
};
const ownStep = (stage: RecoveryStage, trigger: Trigger): Step | undefined =>
  trigger === 'refusal' && (stage === 'none' || stage === 'compacted') ? 'remove turn' : OWN[trigger];

test('POLICY and RECOVERIES_MAX are exactly those of the design', () => {
  const all = (step: Step) => Object.fromEntries(TRIGGERS.map((trigger) => [trigger, step]));
  const scrubs = { token: 'scrub message', fit: 'scrub message', wire: 'scrub message' };
  const last = { unknown: 'try without history', output: 'give up' };
  expect(POLICY).toEqual({
    none: { ...all('start fresh session'), ...last, token: 'compact', fit: 'compact' },
    compacted: { ...all('start fresh session'), ...last },
    fresh: { ...all('start bare session'), ...scrubs, output: 'give up' },
    bare: { ...all('give up'), ...scrubs },
    scrubbed: all('give up'),
  });
  expect(RECOVERIES_MAX).toBe(3);
});

test('every sequence of failures ends, after at most RECOVERIES_MAX recoveries', () => {
  expect(everyWay.length).toBeGreaterThan(500);
  expect(everyWay.filter(({ ended, stages }) => !ended || stages.length - 1 > RECOVERIES_MAX)).toEqual([]);
});

test('a message never returns to an earlier stage', () => {
  const backwards = everyWay.filter(({ stages }) =>
    stages.some((stage, at) => STAGES.indexOf(stage) < STAGES.indexOf(stages[at - 1] ?? 'none')),
  );
  expect(backwards).toEqual([]);
});

test.each<Step>([
  'compact',
  'start fresh session',
  'scrub message',
  'lower output',
  'scrub largest',
  'drop thinking',
  'try without history',
  'start bare session',
])('"%s" is never done twice for a message: what did not help once is not paid for again', (step) => {
  expect(everyWay.filter(({ effects }) => effects.filter((each) => each === step).length > 1)).toEqual([]);
});

test.each<Step>(['raise output', 'scrub media'])('"%s" is done at most twice for a message', (step) => {
  const times = everyWay.map(({ effects }) => effects.filter((each) => each === step).length);
  expect(Math.max(...times)).toBe(2);
});

test('the first failure of a message never leads to "give up"', () => {
  for (const trigger of TRIGGERS) expect(nextStep({ ...fresh('none'), trigger })).not.toBe('give up');
});

test('repeated overflows compact, start a fresh session, scrub the message, and then give up', () => {
  const taken: Step[] = [];
  for (const [recoveries, stage] of STAGES.entries())
    taken.push(nextStep({ stage, trigger: 'token', recoveries, tried: [] }));
  expect(taken).toEqual(['compact', 'start fresh session', 'scrub message', 'give up', 'give up']);
});

test('a kind takes its own step until it was tried twice, and then the fallback step of the stage', () => {
  for (const stage of STAGES)
    for (const trigger of TRIGGERS) {
      expect(nextStep({ ...fresh(stage), trigger })).toBe(ownStep(stage, trigger) ?? POLICY[stage][trigger]);
      expect(nextStep({ ...fresh(stage), trigger, tried: [trigger, trigger] })).toBe(POLICY[stage][trigger]);
    }
});

test('the steps tried for other kinds do not use up the step of a kind', () => {
  expect(nextStep({ ...fresh('none'), trigger: 'media', tried: ['wire', 'fit', 'poison'] })).toBe('scrub media');
});

test('after RECOVERIES_MAX or more recoveries every stage gives up, so that a crash cannot cause a loop', () => {
  for (const stage of STAGES)
    for (const trigger of TRIGGERS)
      for (const recoveries of [RECOVERIES_MAX, RECOVERIES_MAX + 1, Number.POSITIVE_INFINITY])
        expect(nextStep({ stage, trigger, recoveries, tried: [] })).toBe('give up');
});

test('a fresh session is on trial for failures that the history or the message may cause, and size is told by tokens', () => {
  expect(TRIGGERS.filter((kind) => asksForBlame({ kind }))).toEqual(['media', 'poison', 'refusal', 'unknown']);
  expect(TRIGGERS.filter((kind) => isOfSize(kind))).toEqual(['token', 'fit']);
});
