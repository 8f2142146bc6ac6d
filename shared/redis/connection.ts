import type { Duplex } from 'node:stream';
import { Cluster, Command, Redis } from 'ioredis';
import { pause, within } from '../base/lifecycle.ts';
import { type RedisAddress, type SentinelAddress, socketPath } from '../base/redis-address.ts';
import { noteRefusal, PrimaryConnector, reconnectOn } from './failover.ts';

/** A connection to a server, or to all servers of a cluster. A command, script or transaction addresses one shard. */
export type RedisClient = Redis | Cluster;

/** How a connection is used decides how it must fail. */
export type ConnectionUse =
  /** Commands wait for Redis to come back: for workers, whose jobs are retried anyway. */
  | 'patient'
  /** Commands fail at once while Redis is unreachable: for intake, which must not confirm what it could not store. */
  | 'impatient';

/** Longest wait of a blocking read. Below the socket timeout, so that a silent socket differs from an idle stream. */
export const BLOCK_MS = 5_000;

const SOCKET_TIMEOUT_MS = 8_000;
/** Nothing blocks on an impatient connection, and a poller needs a new one soon after its lease has expired. */
const IMPATIENT_TIMEOUT_MS = 3_000;
const RECONNECT_MAX_MS = 2_000;
/** How often to ask a server whether it has loaded its data. */
const LOADING_LOOK_MS = 500;
/**
 * Most tries of a command for an unreachable node: enough to wait out a failover, and a bound on a redirection loop.
 */
const TRIES_MAX = 1_500;
const TRY_AGAIN_MS = 200;
const MOVED_MS = 50;
const IMPATIENT_TRIES_MAX = 16;
/** The longest that a connection's view of the cluster may go unrefreshed, even if no reply announces a change. */
const LOOK_MS = 15_000;
const LOOK_TIMEOUT_MS = 3_000;
/** A silent sentinel must not keep us from the others. */
const SENTINEL_TIMEOUT_MS = 1_500;

/**
 * Opens a connection. It reconnects for ever with a bounded backoff; a half-open socket (no bytes for 8 s, or 3 s on an
 * impatient connection, while a command waits) is dropped and replaced. All our writes are idempotent, so a re-send
 * after a lost reply is safe.
 *
 * A connection is usable only to a primary that has loaded its data, and is replaced when its server turns into a
 * replica. So it follows a failover behind one address, and one that Sentinel announces. On a cluster it follows
 * redirections; a patient command waits out a failover of up to some minutes, an impatient one fails when its own node
 * is unreachable, whatever the state of the others.
 */
export function connectRedis(address: string, use: ConnectionUse): Redis;
export function connectRedis(address: RedisAddress, use: ConnectionUse): RedisClient;
export function connectRedis(address: RedisAddress, use: ConnectionUse): RedisClient {
  const redis = connectTo(address, use);
  // Without a listener ioredis prints to the console; the callers see the same errors on their commands.
  redis.on('error', () => {});
  writeOncePerTick(redis);
  return redis;
}

function connectTo(address: RedisAddress, use: ConnectionUse): RedisClient {
  if (typeof address === 'string') {
    const options = { ...serverOptions(use), Connector: PrimaryConnector };
    return address.startsWith('unix:')
      ? new Redis({ ...options, path: socketPath(address) })
      : new Redis(address, options);
  }
  return 'master' in address ? connectByName(address, use) : connectCluster(address, use);
}

const SOCKET = {
  connectTimeout: 5_000,
  socketTimeout: SOCKET_TIMEOUT_MS,
  keepAlive: 10_000,
  maxLoadingRetryTime: LOADING_LOOK_MS,
} as const;

function backoffMs(attempt: number): number {
  return Math.min(50 * 2 ** Math.min(attempt, 6), RECONNECT_MAX_MS);
}

function serverOptions(use: ConnectionUse) {
  return {
    ...SOCKET,
    ...(use === 'impatient' && { socketTimeout: IMPATIENT_TIMEOUT_MS }),
    retryStrategy: backoffMs,
    maxRetriesPerRequest: use === 'patient' ? null : 0,
    enableOfflineQueue: use === 'patient',
    enableReadyCheck: true,
    reconnectOnError: reconnectOn(use),
  };
}

/** At each connect the sentinels name the primary; a connection to a primary that they have replaced is closed. */
function connectByName({ sentinels, master }: SentinelAddress, use: ConnectionUse): Redis {
  const { username, password, tls } = accessOf(sentinels[0] ?? '');
  const access = accessOf(master);
  return new Redis({
    ...serverOptions(use),
    ...access,
    ...(access.tls && { enableTLSForSentinelMode: true }),
    sentinels: sentinels.map(nodeOf),
    name: decodeURIComponent(new URL(master).hostname),
    role: 'master',
    ...(username !== undefined && { sentinelUsername: username }),
    ...(password !== undefined && { sentinelPassword: password }),
    ...(tls && { sentinelTLS: tls }),
    sentinelCommandTimeout: SENTINEL_TIMEOUT_MS,
    sentinelRetryStrategy: backoffMs,
    sentinelReconnectStrategy: backoffMs,
    failoverDetector: true,
  });
}

function connectCluster(urls: readonly string[], use: ConnectionUse): Cluster {
  const isPatient = use === 'patient';
  const cluster = new Cluster(urls.map(nodeOf), {
    clusterRetryStrategy: backoffMs,
    enableOfflineQueue: isPatient,
    // When a connect finds the cluster down, its promise would never settle, and BullMQ waits for it; instead the
    // commands wait.
    enableReadyCheck: false,
    maxRedirections: isPatient ? TRIES_MAX : IMPATIENT_TRIES_MAX,
    retryDelayOnFailover: isPatient ? TRY_AGAIN_MS : 0,
    retryDelayOnClusterDown: isPatient ? TRY_AGAIN_MS : 0,
    retryDelayOnTryAgain: TRY_AGAIN_MS,
    retryDelayOnMoved: MOVED_MS,
    slotsRefreshInterval: LOOK_MS,
    slotsRefreshTimeout: LOOK_TIMEOUT_MS,
    // Each connect resolves the name, and the certificate is checked against the name.
    dnsLookup: (host, done) => done(null, host),
    redisOptions: {
      ...SOCKET,
      ...(!isPatient && { socketTimeout: IMPATIENT_TIMEOUT_MS }),
      ...accessOf(urls[0] ?? ''),
      maxRetriesPerRequest: null,
      reconnectOnError: noteRefusal,
    },
  });
  // A node connects only when a command first needs it, and commands sent meanwhile would fail instead of waiting.
  if (!isPatient) cluster.on('+node', (node: Redis) => void node.connect().catch(() => {}));
  return cluster;
}

function nodeOf(url: string): { host: string; port: number } {
  const { hostname, port } = new URL(url);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) };
}

/** The settings for every node, including those that only the cluster announces. */
function accessOf(url: string) {
  const { protocol, username, password } = new URL(url);
  return {
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' && { tls: {} }),
  };
}

/** Waits until a connection is usable. Rejects after `deadlineMs` with a sentence that says what to check. */
export async function untilReady(redis: RedisClient, deadlineMs: number): Promise<void> {
  const overdue = new AbortController();
  try {
    const served = untilServed(redis, overdue.signal).then(() => true);
    if (!(await within(served, deadlineMs))) throw new Error(unanswered(redis));
  } finally {
    overdue.abort();
  }
}

async function untilServed(redis: RedisClient, signal: AbortSignal): Promise<void> {
  if (redis.status !== 'ready') await nextReady(redis, signal);
  if (!(redis instanceof Cluster)) return;
  // A part of a cluster answers too; it reports that the cluster is down. Impatient commands fail until their node is
  // connected.
  while (!signal.aborted && !((await isWhole(redis)) && isConnected(redis))) await pause(TRY_AGAIN_MS, signal);
}

/** Resolves when the connection opens the next time. Forgotten when `signal` aborts: then it never settles. */
export function nextReady(redis: RedisClient, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  redis.once('ready', resolve);
  signal.addEventListener('abort', () => redis.off('ready', resolve), { once: true });
  return promise;
}

/** Whether each master takes commands: it is connected, or connects with the first one. */
function isConnected(cluster: Cluster): boolean {
  return cluster.nodes('master').every(({ status }) => status === 'ready' || status === 'wait');
}

async function isWhole(cluster: Cluster): Promise<boolean> {
  return String(await cluster.cluster('INFO').catch(() => '')).includes('cluster_state:ok');
}

const UNREACHED = 'Redis did not answer, or it is a replica. Check REDIS_URL and that the server is running.';
const UNNAMED =
  'The Redis behind the sentinels did not answer. Check REDIS_SENTINELS, REDIS_SENTINEL_MASTER and its password, and what SENTINEL GET-MASTER-ADDR-BY-NAME says.';

function unanswered(redis: RedisClient): string {
  if (!(redis instanceof Cluster)) return redis.options.sentinels ? UNNAMED : UNREACHED;
  const look = 'CLUSTER INFO on one of its nodes says more';
  return `The Redis Cluster did not answer, or it is down. Check REDIS_CLUSTER_NODES, its password included, and that all slots are served; ${look}.`;
}

/** The servers that hold data: each master of a cluster. For requests that address a server and not a key. */
export function serversOf(redis: RedisClient): readonly Redis[] {
  return redis instanceof Cluster ? redis.nodes('master') : [redis];
}

/**
 * The connection to the server that holds a key; one of several on a cluster. Absent while unknown. Sends no request.
 */
function serverOf(redis: RedisClient, key: string): Redis | undefined {
  if (!(redis instanceof Cluster)) return redis;
  const name = redis.slots[new Command('get', [key]).getSlot() ?? -1]?.[0];
  return redis.nodes('master').find(({ options }) => `${options.host}:${options.port}` === name);
}

/** Whether there is a connection to the server that holds a key. Sends no request. */
export function isReadyFor(redis: RedisClient, key: string): boolean {
  return redis.status === 'ready' && serverOf(redis, key)?.status === 'ready';
}

/**
 * Writes what a connection sends in one tick of the event loop to its socket at once, on each of its sockets. A write of
 * its own for each command costs more than the command itself.
 */
function writeOncePerTick(redis: Redis | Cluster): void {
  if (redis instanceof Cluster) redis.on('+node', corkEachSocket);
  else corkEachSocket(redis);
}

function corkEachSocket(redis: Redis): void {
  redis.on('connect', () => cork((redis as unknown as { stream: Duplex }).stream));
}

/** Holds each tick's first write back until the tick's commands are all there. */
function cork(socket: Duplex): void {
  const write = socket.write.bind(socket) as (...given: unknown[]) => boolean;
  const release = (): void => {
    isHeld = false;
    socket.uncork();
  };
  let isHeld = false;
  socket.write = (...given: unknown[]): boolean => {
    if (!isHeld) {
      isHeld = true;
      socket.cork();
      setImmediate(release);
    }
    return write(...given);
  };
}

const SCANNED = 1_000;

/** The rests of all servers' keys behind a prefix, in pieces that keep no server busy. Rejects as Redis does. */
export async function* keysBehind(redis: RedisClient, prefix: string): AsyncGenerator<string> {
  for (const server of serversOf(redis)) {
    let cursor = '0';
    do {
      const [next, found] = await server.scan(cursor, 'MATCH', `${prefix}*`, 'COUNT', SCANNED);
      for (const key of found) yield key.slice(prefix.length);
      cursor = next;
    } while (cursor !== '0');
  }
}
