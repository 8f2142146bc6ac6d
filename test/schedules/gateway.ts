import { chatKey, type EntryId } from '../../shared/redis/keys.ts';
import { createLane } from '../../worker/lane/lane.ts';
import { randomInt } from '../fixture/random.ts';
import type { Waiting } from './effect.ts';
import type { Ground } from './ground.ts';
import type { QueuedJob } from './job-queue.ts';
import type { Plan } from './plan.ts';
import { Process, SPEEDS } from './process.ts';
import { Lease, ProducerProcess } from './producer-process.ts';
import { WorkerProcess } from './worker-process.ts';

const WORKERS = 2;

/** The processes of a schedule: two workers, and one producer or two. What dies is started again. */
export class Gateway {
  readonly ground: Ground;
  readonly plan: Plan;
  readonly workers: WorkerProcess[] = [];
  readonly producers: ProducerProcess[] = [];
  /** The processes that are not dead. */
  readonly live: Process[] = [];
  /** Commands that are still on their way to Redis, although nobody waits for a reply. */
  readonly late: { readonly process: Process; readonly waiting: Waiting }[] = [];
  readonly #lease = new Lease();
  readonly #random: () => number;
  readonly #entries: EntryId[] = [];
  #names = 0;

  constructor(ground: Ground, plan: Plan, random: () => number) {
    this.ground = ground;
    this.plan = plan;
    this.#random = random;
  }

  /** All processes, as if they had run for long. */
  async begin(): Promise<void> {
    const { keys, redis } = this.ground;
    await createLane(redis, keys).prepare();
    const chats = new Set(this.plan.written.map(({ chatId }) => chatKey(chatId)));
    if (this.plan.merges) for (const chat of chats) await redis.hset(keys.chat(chat), 'busy', 'merge');
    for (let at = 0; at < WORKERS; at++) this.#addWorker().dispatch();
    while (!this.isWhole()) this.#startProducer();
  }

  /** Starts what is missing, one process. Returns its name, or nothing when all run. */
  startMissing(): string | undefined {
    if (this.liveWorkers().length < WORKERS) return this.#startWorker();
    const live = this.producers.filter(({ process }) => !process.isDead);
    return live.length < this.plan.producers ? this.#startProducer() : undefined;
  }

  /** Whether it has to ask somebody back. */
  get asks(): boolean {
    return this.plan.written.some(({ kind }) => kind === 'request');
  }

  isWhole(): boolean {
    return this.live.length >= WORKERS + this.plan.producers;
  }

  isQuiet(): boolean {
    return this.live.every((process) => process.isQuiet());
  }

  /** Ends the waits of pollers, which go by the clock. Returns whether there was one. */
  endRests(): boolean {
    const resting = this.producers.filter(({ isResting, process }) => isResting && process.waiting.length === 0);
    for (const producer of resting) producer.loseLease();
    return resting.length > 0;
  }

  liveWorkers(): WorkerProcess[] {
    return this.workers.filter(({ process }) => !process.isDead);
  }

  /** The effects that could happen now, each with its process. */
  ready(): { process: Process; waiting: Waiting }[] {
    const ready: { process: Process; waiting: Waiting }[] = [];
    for (const process of this.live) {
      if (process.isFrozen) continue;
      for (const waiting of process.waiting) if (waiting.effect.isReady?.() ?? true) ready.push({ process, waiting });
    }
    return ready;
  }

  /** Jobs whose lock nobody holds any more who lives. */
  abandoned(): QueuedJob[] {
    const { jobs, runs } = this.ground;
    if (jobs.all().every(({ state }) => state !== 'active')) return [];
    const held = new Set(runs.filter(({ isOver, by }) => !isOver && !by.isDead).map(({ token }) => token));
    return jobs.all().filter(({ state, token }) => state === 'active' && !held.has(token ?? ''));
  }

  /** Kills a process, with whatever runs in it. */
  kill(process: Process): void {
    for (const run of this.ground.runs) if (run.by === process && !run.isOver) run.wasCut = true;
    process.kill();
    this.live.splice(this.live.indexOf(process), 1);
  }

  /** A message as a trace names it, in the order in which jobs were made of them. */
  nameOf(entry: EntryId): string {
    const known = this.#entries.indexOf(entry);
    return `message ${known === -1 ? this.#entries.push(entry) : known + 1}`;
  }

  /** Whether a dispatcher that waits for news would be woken. */
  tellDispatchers(hasNews: boolean): void {
    for (const worker of this.workers) worker.hasNews = hasNews;
  }

  end(): void {
    for (const process of this.live) process.kill();
  }

  #startWorker(): string {
    const worker = this.#addWorker();
    worker.start();
    return worker.process.name;
  }

  #addWorker(): WorkerProcess {
    const worker = new WorkerProcess(this.#processOf('worker', true), this.ground);
    this.workers.push(worker);
    return worker;
  }

  #startProducer(): string {
    const process = this.#processOf('producer', false);
    this.producers.push(new ProducerProcess(process, this.#lease, this.ground));
    return process.name;
  }

  #processOf(kind: string, isPatient: boolean): Process {
    this.#names += 1;
    const speed = SPEEDS[randomInt(this.#random, SPEEDS.length)] ?? 1;
    const process = new Process(`${kind} ${this.#names}`, speed, isPatient);
    this.live.push(process);
    return process;
  }
}
