import { POLL_AGE_MS } from '../shared/state/process/receiver.ts';
import { BREAKER_LIMITS, type BreakerLimits } from '../shared/telegram/breaker.ts';
import { PACE, type Pace } from '../shared/telegram/pacing.ts';

/** The waits of the services of a worker, in ms. Tests shorten them. */
export interface Limits extends BreakerLimits {
  /**
   * How fast a dead worker's job is taken over: once its lock has expired, at the next check, whoever makes it. Two thirds
   * of the lock are what a busy event loop or a Redis that is away may take; past that the job runs again, fenced.
   */
  lockMs: number;
  stalledCheckMs: number;
  /** A worker killed between admitting a message and making it a job delays it by no more than this. */
  reconcileEveryMs: number;
  /** How long running turns get when the process is asked to end; then they are handed back intact. */
  drainMs: number;
  /** How often a turn that makes progress notes it; far shorter than any time after which a message is overdue. */
  progressEveryMs: number;
  archiveEveryMs: number;
  remindersEveryMs: number;
  blobEveryMs: number;
  /**
   * A blob that nothing points at is removed when it is older than this. It may still get its pointer for half an hour
   * (`APPEND_SECONDS_MAX`).
   */
  orphanMs: number;
  /**
   * Nothing is removed before the data has referred to the store for so long: an empty Redis that a process was pointed at
   * by mistake refers to nothing.
   */
  boundMs: number;
  /** The least time between two updates of a draft. */
  draftsEveryMs: number;
  /** How long a turn lasts before it gets a status line. */
  statusAfterMs: number;
  /** The least time between changes of it: a group takes 20 messages a minute, of all bots' sends together. */
  statusEveryMs: number;
  pace: Pace;
  /** Without a word for so long, the call of a summary counts as silent; absent: as long as any call. */
  summaryIdleMs?: number;
  toolServersEveryMs: number;
  /** A tool server that is unreachable for so long is down: shorter trouble ends before an operator could look. */
  toolServerDownMs: number;
  /** A date 30 days ahead can wait for that long. */
  modelLivesEveryMs: number;
  /** How often queued alerts are entered into the book of incidents, and sent. */
  alertEveryMs: number;
  /** The first wait after a channel took no alert; each further wait doubles. */
  alertRetryMs: number;
  /** How long an incident waits for its cause before it rings. */
  alertSettleMs: number;
  /** The least time between two edits of an alert's message; absent: `EDIT_EVERY_MS`. */
  alertEditEveryMs?: number;
  /** How long a process that died keeps others from sending alerts: longer than an edit and a reply. */
  alertTakeOverMs: number;
  alertmanagerEveryMs: number;
  /** How often the state of the installation is checked. */
  watchEveryMs: number;
  /** A receiver that has not polled for so long is stuck: longer than a long poll with its retries. */
  pollAgeMs: number;
  /** Longer than a hiccup that retries hide, and short enough to notify within a minute. */
  providerDownMs: number;
  telegramDownMs: number;
  /** Trouble of Redis that lasts this long is notified: a failover is over by then. */
  redisTroubleMs: number;
  deadManEveryMs: number;
  /** The shortest time between two probes of a failing endpoint; shorter than what keeps an incident open (`isOver`). */
  probeEveryMs: number;
}

/** The limits of a worker outside of tests. */
export const LIMITS: Readonly<Limits> = {
  ...BREAKER_LIMITS,
  lockMs: 6_000,
  stalledCheckMs: 1_000,
  reconcileEveryMs: 5_000,
  drainMs: 25_000,
  progressEveryMs: 15_000,
  archiveEveryMs: 5_000,
  remindersEveryMs: 5_000,
  blobEveryMs: 3_600_000,
  orphanMs: 3_600_000,
  boundMs: 24 * 3_600_000,
  draftsEveryMs: 1_000,
  statusAfterMs: 5_000,
  statusEveryMs: 3_000,
  pace: PACE,
  toolServersEveryMs: 2_000,
  toolServerDownMs: 30_000,
  modelLivesEveryMs: 6 * 3_600_000,
  alertEveryMs: 1_000,
  alertRetryMs: 5_000,
  alertSettleMs: 10_000,
  alertTakeOverMs: 90_000,
  alertmanagerEveryMs: 60_000,
  watchEveryMs: 5_000,
  pollAgeMs: POLL_AGE_MS,
  providerDownMs: 35_000,
  telegramDownMs: 30_000,
  redisTroubleMs: 15_000,
  deadManEveryMs: 60_000,
  probeEveryMs: 5_000,
};
