import type { RecoveryStage } from '../lane/attempt.ts';
import type { FailureKind } from '../model/errors/failure.ts';

/** Failures that a change of the request can fix. The others never reach the table. */
export type Trigger = Exclude<FailureKind, 'transient' | 'model' | 'terminal'>;

/** The next step of recovery. */
export type Step =
  /** Stage 1: old tool results are masked, or the model summarises the older part, aggressively. */
  | 'compact'
  /** Stage 2: a fresh session, opened by a seed that we build without a model. */
  | 'start fresh session'
  /** Stage 2, if the fixed parts alone are taken; if not, the history is innocent and stays. */
  | 'try without history'
  /** A fresh session whose seed quotes nothing: what it quoted may be what was refused. */
  | 'start bare session'
  /** The message itself is too large: only heads and tails of its parts are shown. */
  | 'scrub message'
  /** The request has too many bytes: its largest parts are removed, newest message first. */
  | 'scrub largest'
  /** A picture or a file that the model does not take is removed. */
  | 'scrub media'
  /** Thinking that the model does not take back is removed. */
  | 'drop thinking'
  /** Input and output together do not fit: ask for less output. */
  | 'lower output'
  /** The answer was cut before its first word: ask for more output. */
  | 'raise output'
  /** The model declined the message: its whole turn is removed, and the user is notified. */
  | 'remove turn'
  /** Nothing is left to change: the user and the operator are notified. */
  | 'give up';

type Row = Readonly<Record<Trigger, Step>>;

/** The step that belongs to a kind of failure, and is taken first. It changes no stage. */
const OWN: Readonly<Partial<Record<Trigger, Step>>> = {
  fit: 'lower output',
  wire: 'scrub largest',
  media: 'scrub media',
  poison: 'drop thinking',
  output: 'raise output',
  refusal: 'remove turn',
};

/** How often a message may take a kind's own step; once unless listed here. */
const OWN_STEPS_MAX: Readonly<Partial<Record<Trigger, number>>> = { output: 2, media: 2 };

const LEAVES_HISTORY = {
  wire: 'start fresh session',
  media: 'start fresh session',
  poison: 'start fresh session',
  refusal: 'start fresh session',
  unknown: 'try without history',
  output: 'give up',
} as const;

const GIVES_UP: Row = {
  token: 'give up',
  fit: 'give up',
  wire: 'give up',
  media: 'give up',
  poison: 'give up',
  refusal: 'give up',
  unknown: 'give up',
  output: 'give up',
};

const SCRUBS = { token: 'scrub message', fit: 'scrub message', wire: 'scrub message' } as const;
const BARE = 'start bare session';

/**
 * What happens at each stage of a message when its next call fails, and the kind's own step is used up or finds nothing to
 * do. A missing cell does not compile.
 */
export const POLICY: Readonly<Record<RecoveryStage, Row>> = {
  none: { token: 'compact', fit: 'compact', ...LEAVES_HISTORY },
  compacted: { token: 'start fresh session', fit: 'start fresh session', ...LEAVES_HISTORY },
  fresh: { ...GIVES_UP, ...SCRUBS, media: BARE, poison: BARE, refusal: BARE, unknown: BARE },
  bare: { ...GIVES_UP, ...SCRUBS },
  scrubbed: GIVES_UP,
};

/**
 * Failures for which either the history or the message is to blame: a fresh session is on trial until it is answered.
 */
const BLAMED: ReadonlySet<Trigger> = new Set<Trigger>(['media', 'poison', 'refusal', 'unknown']);

/** Whether the history is innocent if a fresh session fails in the same way. */
export function asksForBlame({ kind }: { kind: Trigger }): boolean {
  return BLAMED.has(kind);
}

/** Whether a failure is about the tokens of a request. */
export function isOfSize(kind: Trigger): boolean {
  return kind === 'token' || kind === 'fit';
}

/** Re-enqueues by recovery for one call: with the first that makes at most 4 calls beyond transient retries. */
export const RECOVERIES_MAX = 3;

/**
 * The next step for a failure. Pure; ends for every sequence of failures, since `recoveries` only grows. It counts the
 * recoveries since the last call that went through.
 */
export function nextStep(state: {
  stage: RecoveryStage;
  trigger: Trigger;
  recoveries: number;
  /** Kinds whose own step was taken for this message or does not apply to it; one item for each time. */
  tried: readonly string[];
}): Step {
  if (state.recoveries >= RECOVERIES_MAX) return 'give up';
  const { stage, trigger, tried } = state;
  const isUsedUp = tried.filter((kind) => kind === trigger).length >= (OWN_STEPS_MAX[trigger] ?? 1);
  // Without its history, a message that is declined may still be taken without what the seed quotes.
  const isLeft = trigger === 'refusal' && stage !== 'none' && stage !== 'compacted';
  const own = isUsedUp || isLeft ? undefined : OWN[trigger];
  return own ?? POLICY[stage][trigger];
}
