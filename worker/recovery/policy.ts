import type { RecoveryStage } from '../attempt.ts';
import type { FailureKind } from '../model/classify.ts';

/** Failures that a change of the request can mend. Transient and terminal ones never reach the table. */
export type Trigger = Exclude<FailureKind, 'transient' | 'terminal'>;

/** What recovery does next. */
export type Step =
  /** Stage 1: old tool results are masked, or the model summarises the older part, aggressively. */
  | 'compact'
  /** Stage 2: a fresh session, opened by a seed that we build without a model. */
  | 'start fresh session'
  /** The message itself is too large: only heads and tails of its parts are shown. */
  | 'scrub message'
  /** The request is too large in bytes: its largest parts are left out, newest message first. */
  | 'scrub largest'
  /** A picture or a file that the model does not take is left out. */
  | 'scrub media'
  /** Thinking that the model does not take back is left out. */
  | 'drop thinking'
  /** Input and output together do not fit: ask for less output. */
  | 'lower output'
  /** Nothing is left to change: the user and the operator are told. */
  | 'give up';

type Row = Readonly<Record<Trigger, Step>>;

/** The steps that belong to a kind of failure: they change no stage, and each is taken once a message. */
const OWN = { fit: 'lower output', wire: 'scrub largest', media: 'scrub media', poison: 'drop thinking' } as const;

/** Recovery, whole: what happens at each stage of a message when its next call fails. A missing cell does not compile. */
export const POLICY: Readonly<Record<RecoveryStage, Row>> = {
  none: { token: 'compact', ...OWN },
  compacted: { token: 'start fresh session', ...OWN },
  fresh: { token: 'scrub message', ...OWN },
  scrubbed: { token: 'give up', ...OWN },
};

/** What happens instead when a kind's own step was taken before, or finds nothing to do. */
export const OTHERWISE: Readonly<Record<RecoveryStage, Row>> = {
  none: {
    token: 'compact',
    fit: 'compact',
    wire: 'start fresh session',
    media: 'start fresh session',
    poison: 'start fresh session',
  },
  compacted: {
    token: 'start fresh session',
    fit: 'start fresh session',
    wire: 'start fresh session',
    media: 'start fresh session',
    poison: 'start fresh session',
  },
  fresh: { token: 'scrub message', fit: 'scrub message', wire: 'scrub message', media: 'give up', poison: 'give up' },
  scrubbed: { token: 'give up', fit: 'give up', wire: 'give up', media: 'give up', poison: 'give up' },
};

/** Re-enqueues by recovery for one call: with the first that makes at most 4 calls beyond transient retries. */
export const RECOVERIES_MAX = 3;

/**
 * The next step for a failure. Pure; ends for every sequence of failures, since `recoveries` only grows. It counts
 * those since the last call that went through.
 */
export function nextStep(state: {
  stage: RecoveryStage;
  trigger: Trigger;
  recoveries: number;
  /** Kinds whose own step was taken for this message, or is of no use for it. */
  tried: readonly string[];
}): Step {
  if (state.recoveries >= RECOVERIES_MAX) return 'give up';
  const table = state.tried.includes(state.trigger) ? OTHERWISE : POLICY;
  return table[state.stage][state.trigger];
}
