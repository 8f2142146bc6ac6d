import { POLL_AGE_MS } from '../shared/state/process/receiver.ts';
import { BREAKER_LIMITS, type BreakerLimits } from '../shared/telegram/breaker.ts';
import { PACE, type Pace } from '../shared/telegram/pacing.ts';

/** The intervals and time limits of the services of a worker, in ms. Tests shorten them. */
export interface Limits extends BreakerLimits {
  /**
   * The lifetime of a job's lock. The worker that runs the job renews the lock each time a third of this has passed, so a busy
   * event loop or an outage of Redis may last two thirds of the lifetime. If that worker dies, the first check by any worker
   * after the lifetime makes the job run again.
   */
  lockMs: number;
  stalledCheckMs: number;
  /** How often heads without a job get a job, in case a worker died after it had admitted a message. */
  reconcileEveryMs: number;
  /** How long running turns may go on after the process is asked to stop. Then the turns hand themselves back. */
  drainMs: number;
  /** The shortest time between two records of a turn's progress; far shorter than the time until a message is overdue. */
  progressEveryMs: number;
  archiveEveryMs: number;
  remindersEveryMs: number;
  blobEveryMs: number;
  /**
   * The age at which a blob without a pointer counts as an orphan. A write may add the pointer up to half an hour after the
   * blob (`APPEND_SECONDS_MAX`).
   */
  orphanMs: number;
  /**
   * How long Redis must have known the id of the blob store before orphans are removed. To a process that uses an empty Redis
   * by mistake, all blobs look like orphans.
   */
  boundMs: number;
  /** The shortest time between two updates of a draft. */
  draftsEveryMs: number;
  /** How long a turn lasts before it gets a status line. */
  statusAfterMs: number;
  /** The shortest time between two edits of a status line. Telegram allows 20 messages a minute in a group. */
  statusEveryMs: number;
  pace: Pace;
  /** The longest silence of the endpoint during a summary; 30 s if absent. Never longer than `MODEL_IDLE_TIMEOUT_MS`. */
  summaryIdleMs?: number;
  toolServersEveryMs: number;
  /** How long a tool server must be unreachable before an alert. Shorter trouble ends before an operator could look. */
  toolServerDownMs: number;
  /** How often the models' end-of-life dates are read. An alert is due 30 days before such a date. */
  modelLivesEveryMs: number;
  /** How often the alerter processes queued alerts, and sends and edits messages about incidents. */
  alertEveryMs: number;
  /** The first wait after a channel did not take an alert; each further wait is twice as long, up to a maximum. */
  alertRetryMs: number;
  /** How long an incident waits for another incident that explains it, before it gets its own message. */
  alertSettleMs: number;
  /** The shortest time between two edits of an alert's message; `EDIT_EVERY_MS` if absent. */
  alertEditEveryMs?: number;
  /** The lease of the process that sends alerts: an edit and a reply take less. If the lease lapses, another process sends. */
  alertTakeOverMs: number;
  alertmanagerEveryMs: number;
  /** How often the state of the installation is checked. */
  watchEveryMs: number;
  /** The age of the last successful poll at which the receiver counts as stuck: longer than a long poll with its retries. */
  pollAgeMs: number;
  /** How long the provider must fail before an alert: longer than trouble that retries hide, and less than a minute. */
  providerDownMs: number;
  telegramDownMs: number;
  /** How long trouble with Redis must last before an alert: longer than a failover. */
  redisTroubleMs: number;
  deadManEveryMs: number;
  /** The shortest time between probes of a failing endpoint; shorter than the quiet time that ends an incident (`isOver`). */
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
