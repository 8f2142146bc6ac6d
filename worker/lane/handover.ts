import { join } from 'node:path';
import { type BackendFactory, ConnectionClosedError, createRedisBackend, type RedisQueueBackend } from 'bullmq';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { bindScript } from '../../shared/redis/script.ts';

type Jobs = Parameters<RedisQueueBackend['addJobs']>[0];
type AddJobs = RedisQueueBackend['addJobs'];
type Ids = Awaited<ReturnType<AddJobs>>;
type Listen = RedisQueueBackend['waitForJob'];
type News = Awaited<ReturnType<Listen>>;
type Send = RedisQueueBackend['execCommand'];
/** The reply of BullMQ's script that takes a job: the job, its id, and until when to wait. */
type Taken = [job: unknown, id: unknown, limitMs: number, delayUntilMs: number];

/** Jobs that wait for the worker to take one of them in the step that adds them. */
interface Offer {
  jobs: Jobs;
  ids: PromiseWithResolvers<Ids>;
  /** Adds them without the worker. */
  addAlone: () => void;
  timer: NodeJS.Timeout;
}

/** BullMQ's marker of a job that waits. */
const WAKE_UP: News = { member: '0', score: 0 };
/** A worker that was woken takes a job at once. If it does not, the jobs are added without it. */
const OFFER_MS = 1_000;
const ENDED = 'The worker ends, and waits no more.';

/**
 * Saves round trips between a shard's queue and its worker in this process. A worker that waits takes a job in the step
 * that adds it, so that nobody is woken for it; and it learns with each job whether more wait, so that it does not ask
 * in vain. The jobs, their locks and the scripts that change them stay BullMQ's.
 *
 * Contract: jobs are in the queue when `addJobs` resolves, whatever the worker does meanwhile. A wake-up that reaches a
 * worker which does not wait any more is passed on.
 */
export class Handover {
  #offer: Offer | undefined;
  /** How the worker's wait ends; absent while it does not wait. */
  #wait: PromiseWithResolvers<News> | undefined;
  /** BullMQ's blocking read goes on when a wait ends for another reason. */
  #isListening = false;
  /** Set when no job was left behind the one just taken: when the next delay ends. */
  #idleUntilMs: number | undefined;
  /** A wake-up that reached this worker while it did not wait, and could not be passed on. */
  #keptNews: News | undefined;

  readonly #redis: RedisClient;

  /** Binds it to the connection that the queue and the worker share. */
  constructor(redis: RedisClient) {
    this.#redis = redis;
    bindScript(redis, join(import.meta.dirname, 'idle.lua'));
  }

  /** Makes the queue's access to Redis. */
  readonly queueSide: BackendFactory<RedisQueueBackend> = (...given) => {
    const backend = createRedisBackend(...given);
    // What is sent in one tick is one write anyway, and BullMQ's pipelines cost more than the commands in them.
    const addJobs: AddJobs = (jobs) =>
      Promise.all(jobs.map(({ job, jobId, parentKeyOpts }) => backend.addJob(job, jobId, parentKeyOpts)));
    backend.addJobs = (jobs) => this.#offerTo(jobs, addJobs) ?? addJobs(jobs);
    return backend;
  };

  /** Makes the worker's access to Redis. */
  readonly workerSide: BackendFactory<RedisQueueBackend> = (...given) => {
    const backend = createRedisBackend(...given);
    const send: Send = backend.execCommand.bind(backend);
    const listen: Listen = backend.waitForJob.bind(backend);
    backend.execCommand = (client, name, args) => {
      if (name === 'moveToActive') return this.#take(backend, send, args);
      // What was learnt with the last job is old once another command was sent.
      this.#idleUntilMs = undefined;
      return send(client, name, args);
    };
    backend.waitForJob = (seconds) => this.#waitForJob(backend, listen, seconds);
    // BullMQ ends a wait with its socket, and waits for ever where Redis is away: a connection that is to be tried again
    // has none (https://github.com/taskforcesh/bullmq/issues/4656). This one ends without its socket.
    const close = backend.close.bind(backend);
    backend.disconnectBlocking = async () => this.#endWait()?.reject(new ConnectionClosedError(ENDED));
    backend.close = () => close(true);
    return backend;
  };

  /** Offers jobs to the worker; `undefined` when it does not wait for any. */
  #offerTo(jobs: Jobs, addJobs: AddJobs): Promise<Ids> | undefined {
    if (this.#wait === undefined || this.#offer !== undefined) return undefined;
    const ids = Promise.withResolvers<Ids>();
    const addAlone = () => void addJobs(jobs).then(ids.resolve, ids.reject);
    const timer = setTimeout(() => this.#withdraw()?.addAlone(), OFFER_MS);
    this.#offer = { jobs, ids, addAlone, timer };
    this.#endWait()?.resolve(WAKE_UP);
    return ids.promise;
  }

  #withdraw(): Offer | undefined {
    const offer = this.#offer;
    this.#offer = undefined;
    clearTimeout(offer?.timer);
    return offer;
  }

  async #take(backend: RedisQueueBackend, send: Send, args: unknown[]): Promise<Taken> {
    const offer = this.#withdraw();
    const idleUntilMs = this.#idleUntilMs;
    this.#idleUntilMs = undefined;
    if (!offer && idleUntilMs !== undefined) return [0, 0, 0, idleUntilMs];
    try {
      const client = await backend.client;
      // In a transaction, no worker is woken by a job that is taken in the same step.
      const batch = offer ? client.multi() : client.pipeline();
      for (const { job, jobId, parentKeyOpts } of offer?.jobs ?? [])
        void backend.addJobToTransaction(batch, job, jobId, parentKeyOpts);
      void send(batch, 'moveToActive', args);
      const { wait, prioritized, delayed, marker } = backend.keys;
      batch.runCommand('spillway:idle', [4, wait, prioritized, delayed, marker]);
      const replies = ((await batch.exec()) ?? []).map(replyOf);
      const [taken, [waiting, untilMs]] = replies.slice(-2) as [Taken, [waiting: 0 | 1, untilMs: number]];
      if (taken[0] && waiting === 0) this.#idleUntilMs = untilMs;
      offer?.ids.resolve(replies.slice(0, -2) as Ids);
      return taken;
    } catch (error) {
      // A job with an id that is in the queue already is not added again.
      offer?.addAlone();
      throw error;
    }
  }

  async #waitForJob(backend: RedisQueueBackend, listen: Listen, seconds: number): Promise<News> {
    this.#idleUntilMs = undefined;
    const kept = this.#keptNews;
    this.#keptNews = undefined;
    if (kept) return kept;
    const wait = Promise.withResolvers<News>();
    this.#wait = wait;
    if (!this.#isListening) void this.#listen(backend, listen, seconds);
    const timer = setTimeout(() => this.#endWait()?.resolve(null), seconds * 1000);
    try {
      return await wait.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  #endWait(): PromiseWithResolvers<News> | undefined {
    const wait = this.#wait;
    this.#wait = undefined;
    return wait;
  }

  async #listen(backend: RedisQueueBackend, listen: Listen, seconds: number): Promise<void> {
    this.#isListening = true;
    try {
      const news = await listen(seconds);
      this.#isListening = false;
      const wait = this.#endWait();
      if (wait) wait.resolve(news);
      else if (news) await this.#passOn(backend, news);
    } catch (error) {
      this.#isListening = false;
      this.#endWait()?.reject(error);
    }
  }

  /** Another worker that waits would else learn of the job only when its own wait ends. A full Redis refuses it. */
  async #passOn(backend: RedisQueueBackend, news: NonNullable<News>): Promise<void> {
    try {
      await this.#redis.zadd(backend.toKey('marker'), news.score, news.member);
    } catch {
      const wait = this.#endWait();
      if (wait) wait.resolve(news);
      else this.#keptNews = news;
    }
  }
}

function replyOf([error, reply]: [error: Error | null, reply: unknown]): unknown {
  if (error) throw error;
  return reply;
}
