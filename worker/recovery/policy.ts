import type { RecoveryStage } from '../attempt.ts';
import type { FailureKind } from '../model/classify.ts';

/** Failures that a change of the request can mend. Transient and terminal ones never reach the table. */
export type Trigger = Exclude<FailureKind, 'transient' | 'terminal'>;

/** What recovery does next. */
export type Step =
  /** Stage 1: the model summarises the older part, aggressively. */
  | 'compact'
  /** Stage 2: a fresh session, opened by a seed that we build without a model. */
  | 'start fresh session'
  /** The message itself is too large: only its head and tail are shown. */
  | 'scrub message'
  /** Input and output together do not fit: ask for less output. */
  | 'lower output'
  /** The fixed parts alone do not fit: the user and the operator are told. */
  | 'give up';

/** Recovery, whole: what happens at each stage of a message when its next call fails. A missing cell does not compile. */
export const POLICY: Readonly<Record<RecoveryStage, Readonly<Record<Trigger, Step>>>> = {
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
  scrubbed: {
    token: 'give up',
    fit: 'give up',
    wire: 'give up',
    media: 'give up',
    poison: 'give up',
  },
};

/** Re-enqueues by recovery per message: with the first call that makes at most 4 main calls beyond transient retries. */
export const RECOVERIES_MAX = 3;

/** The next step for a failure. Pure; ends for every sequence of failures, since `recoveries` only grows. */
export function nextStep(state: {
  stage: RecoveryStage;
  trigger: Trigger;
  recoveries: number;
  /** Whether output was lowered for this message before: it is done once. */
  outputLowered: boolean;
}): Step {
  if (state.recoveries >= RECOVERIES_MAX) return 'give up';
  const step = POLICY[state.stage][state.trigger];
  return step === 'lower output' && state.outputLowered ? POLICY[state.stage].token : step;
}
