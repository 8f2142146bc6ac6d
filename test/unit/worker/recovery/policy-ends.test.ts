import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Failure, FailureKind } from '../../../../worker/model/errors/failure.ts';
import { decide, FAILED_CALLS_MAX } from '../../../../worker/recovery/policy.ts';
import type { RecoveryState, Step } from '../../../../worker/recovery/state.ts';
import { failure, LIMITS, SIZES, STATE, token } from '../../../fixture/recovery-state.ts';
import { forAll } from '../../../fixture/texts.ts';

const KINDS = 'media poison refusal wire fit output terminal model unknown'.split(' ') as FailureKind[];
const down = failure('transient', { reason: 'overloaded' });
const seen = fc.constantFrom(
  token,
  failure('token', { reason: 'counted_too_long', observedTokens: 190_000, limitTokens: 200_000 }),
  down,
  failure('transient', { reason: 'unknown' }),
  ...KINDS.map((kind) => failure(kind)),
);
const evidence = fc.record(
  {
    count: fc.constantFrom('unknown' as const, 1_000, 190_000),
    fixedParts: fc.constantFrom(
      { kind: 'taken' } as const,
      { kind: 'refused' } as const,
      { kind: 'unclear', failure: down } as const,
    ),
    compaction: fc.constantFrom(
      undefined,
      { reason: 'useless', tookMs: 0 } as const,
      { reason: 'away', tookMs: 0, failure: down } as const,
    ),
  },
  { noNullPrototype: true },
);
const states = fc.record({
  sizes: fc.constantFrom(
    SIZES,
    { ...SIZES, request: 3_000 },
    { ...SIZES, round: 150_000 },
    { ...SIZES, knownWindow: 150_000, request: 170_000 },
  ),
  refusedInRow: fc.constantFrom(0, 1),
  isModelChosen: fc.boolean(),
  isMidTurn: fc.boolean(),
  isOmitting: fc.boolean(),
});

/** What a step leaves for the next failure; nothing where it ends the message. */
function after(
  state: RecoveryState,
  step: Step,
  seen: Failure,
  finds: Pick<RecoveryState, 'evidence'>,
): RecoveryState | undefined {
  const next = { ...state, failedCalls: state.failedCalls + 1, evidence: {}, outage: { waitedMs: 0, tries: 0 } };
  switch (step.do) {
    case 'ask':
      return { ...state, evidence: { ...state.evidence, ...finds.evidence } };
    case 'wait':
      return {
        ...state,
        evidence: {},
        attempts: state.attempts + 1,
        outage: { waitedMs: step.waitedMs, tries: step.tries },
      };
    case 'repeat':
      return { ...next, tried: [...state.tried, `repeat ${seen.kind}`] };
    case 'compact':
      if (step.how === 'mask') return { ...state, tried: [...state.tried, 'mask'] };
      return finds.evidence.compaction
        ? { ...state, tried: [...state.tried, 'summary'], evidence: { ...state.evidence, ...finds.evidence } }
        : { ...next, stage: 'compacted', tried: [] };
    case 'fresh session':
      return {
        ...next,
        stage: 'fresh',
        isOnTrial: state.isOnTrial || step.isTrial,
        tried: step.quotes ? [] : ['quoteless'],
      };
    case 'use default model':
      return { ...next, isModelChosen: false, failedCalls: 1 };
    case 'leave out':
      return { ...next, tried: [...state.tried, step.what] };
    case 'change output':
      return { ...next, tried: [...state.tried, 'output'] };
    case 'trim':
      return { ...next, tried: [...state.tried, 'trim'] };
    case 'send as it is':
      return { ...next, tried: [...state.tried, 'as it is'] };
    default:
      return undefined;
  }
}

test('for any sequence of failures a message ends within six calls, its waits and two fresh sessions aside', () => {
  forAll([states, fc.infiniteStream(fc.tuple(seen, evidence))], (first, stream) => {
    let state: RecoveryState | undefined = { ...STATE, ...first };
    let freshSessions = 0;
    for (let steps = 0; state !== undefined; steps += 1) {
      expect(steps).toBeLessThan(500);
      expect(state.failedCalls).toBeLessThanOrEqual(FAILED_CALLS_MAX);
      const [failed, found]: [Failure, RecoveryState['evidence']] = stream.next().value;
      let step = decide(state, failed, LIMITS);
      // One failure is decided about until a step ends the attempt.
      while (step.do === 'ask' || (step.do === 'compact' && found.compaction)) {
        state = after(state, step, failed, { evidence: found }) as RecoveryState;
        step = decide(state, failed, LIMITS);
      }
      if (step.do === 'fresh session') freshSessions += 1;
      expect(freshSessions).toBeLessThanOrEqual(2);
      state = after(state, step, failed, { evidence: {} });
    }
  });
});
