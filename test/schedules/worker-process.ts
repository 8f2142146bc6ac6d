import { DelayedError, type Job, WaitingError } from 'bullmq';
import type { EntryId } from '../../shared/redis/keys.ts';
import type { Env } from '../../worker/env.ts';
import { reconcile, startDispatcher } from '../../worker/lane/dispatcher.ts';
import { createLane, type Lane } from '../../worker/lane/lane.ts';
import type { TurnJob, TurnQueue } from '../../worker/lane/queue.ts';
import { createSlots } from '../../worker/lane/slots.ts';
import { withExclusions } from '../../worker/tools/toolboxes.ts';
import { resumeParked } from '../../worker/turn/park.ts';
import { createProcessor, type Processor } from '../../worker/turn/processor.ts';
import { envOf } from './env.ts';
import { gatedRedis } from './gated-redis.ts';
import type { Ground, Run } from './ground.ts';
import type { QueuedJob } from './job-queue.ts';
import { modelOf, toolsOf } from './oracle.ts';
import type { Process } from './process.ts';
import { telegramOf } from './telegram.ts';

const SLOTS = 2;

/** A worker process: the product's dispatcher, its job processor and its reconciler. */
export class WorkerProcess {
  readonly process: Process;
  /** Whether the stream has grown since its dispatcher last looked. */
  hasNews = true;
  /** Its running turns, and how each looks once whether a later message ends it: each look waits for the one before. */
  readonly watching = new Set<{ entry: EntryId; isLooking: boolean; look: () => void }>();
  readonly #ground: Ground;
  readonly #lane: Lane;
  readonly #queue: TurnQueue;
  readonly #env: Env;
  readonly #processor: Processor;
  readonly #ending = new AbortController();

  constructor(process: Process, ground: Ground) {
    this.process = process;
    this.#ground = ground;
    const { keys, observability } = ground;
    const redis = gatedRedis(ground.redis, process);
    this.#lane = createLane(redis, keys);
    this.#queue = queueOf(process, ground);
    this.#env = envOf(
      {
        ...observability,
        ...{ redis, keys, lane: this.#lane, queue: this.#queue },
        model: modelOf(process, ground.calls),
        tools: withExclusions(toolsOf(process, ground.acts)),
        telegram: telegramOf(process, ground.history),
        share: createSlots(SLOTS).share(),
        ending: this.#ending.signal,
      },
      ({ entry }, look) => {
        const looked = () => Object.assign(turn, { isLooking: false });
        const turn = { entry, isLooking: false, look: () => void process.run(look).then(looked) };
        this.watching.add(turn);
        return () => this.watching.delete(turn);
      },
    );
    this.#processor = createProcessor(this.#env);
  }

  /** Begins as the product does: the group, a pass of the reconciler, and the dispatcher. */
  start(): void {
    void this.process
      .run(async () => {
        await this.#lane.prepare();
        void this.reconcile();
        this.dispatch();
      })
      .catch(ignoreEnd);
  }

  reconcile(): Promise<void> {
    return this.process.run(() => reconcile(this.#flow, 0)).catch(ignoreEnd);
  }

  /** Whether it would take one more job. */
  hasRoom(): boolean {
    const { isDead, isEnding } = this.process;
    return !isDead && !isEnding && this.running().length < SLOTS;
  }

  running(): Run[] {
    return this.#ground.runs.filter((run) => run.by === this.process && !run.isOver);
  }

  /** Runs a job to its end, as BullMQ's worker does. */
  take(job: QueuedJob): void {
    const { jobs, runs } = this.#ground;
    const token = jobs.take(job);
    const run: Run = { job, by: this.process, token, lockLost: new AbortController(), isOver: false, wasCut: false };
    runs.push(run);
    void this.process.run(() => this.#runJob(run)).catch(ignoreEnd);
  }

  /** It was asked to end: its running turns are handed back. */
  handBack(): void {
    this.process.isEnding = true;
    this.#ending.abort();
  }

  async #runJob(run: Run): Promise<void> {
    const { jobs } = this.#ground;
    const { token, job } = run;
    try {
      const end = await this.#processor(this.#asJob(run), token, run.lockLost.signal);
      await this.#queueEffect('end the job', () => jobs.end(token));
      if (end === 'parked') await resumeParked(this.#env, job);
    } catch (error) {
      if (this.process.isDead) return;
      if (error instanceof DelayedError || error instanceof WaitingError) return;
      // Another run has taken the message over, whatever this one has sent.
      run.wasCut = true;
      await this.#queueEffect('retry the job', () => {
        if (job.token === token) jobs.move(token, 'delayed', { setAtMs: Date.now(), forMs: 1_000 });
      });
    } finally {
      run.isOver = true;
    }
  }

  /** What the processor uses of BullMQ's job. */
  #asJob({ job: { entry, chat }, token }: Run): Job<TurnJob> {
    const moveToWait = () => this.#queueEffect('hand the job back', () => this.#ground.jobs.move(token, 'waiting'));
    return { data: { entry, chat }, attemptsMade: 0, moveToWait } as unknown as Job<TurnJob>;
  }

  #queueEffect(words: string, apply: () => void): Promise<void> {
    return this.process.effect({ kind: 'queue', words, apply });
  }

  get #flow() {
    return { lane: this.#lane, queue: this.#queue, discard: async () => {}, ...this.#ground.observability };
  }

  /** Takes what the stream brings. */
  dispatch(): void {
    const blocking = gatedRedis(this.#ground.redis, this.process, (command) => command !== 'xread' || this.hasNews);
    this.process.strands += 1;
    const service = startDispatcher(this.#flow, this.#ground.keys, blocking);
    this.process.onEnd(() => void service.stop());
  }
}

/** A process that was killed leaves an error behind that nobody is told of. */
function ignoreEnd(): void {}

/** The product's queue, over the model of BullMQ. */
function queueOf(process: Process, { jobs, layout }: Ground): TurnQueue {
  const effect = <T>(words: string, apply: () => T | Promise<T>) => process.effect({ kind: 'queue', words, apply });
  return {
    add: async (heads) => (heads.length === 0 ? undefined : effect('add jobs', () => jobs.add(heads))),
    missing: async (heads) =>
      heads.length === 0 ? { heads: [], broken: 0 } : effect('find missing jobs', () => layout.missing(heads)),
    promote: async () => {},
    promoteAll: async () => 0,
    async endDelays(nowMs) {
      if (!jobs.all().some(({ state }) => state === 'delayed')) return 0;
      return effect('end delays', () => layout.endDelays(nowMs));
    },
    postpone: (_job, token = '', _nowMs, forMs) =>
      effect('postpone the job', () => jobs.move(token, 'delayed', { setAtMs: Date.now(), forMs })),
    close: async () => {},
  };
}
