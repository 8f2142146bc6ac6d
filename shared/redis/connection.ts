import type { Duplex } from 'node:stream';
import { Cluster, Command, Redis } from 'ioredis';
import { pause, within } from '../base/lifecycle.ts';
import { type RedisAddress, type SentinelAddress, socketPath } from '../base/redis-address.ts';
import { noteRefusal, PrimaryConnector, reconnectOn } from './failover.ts';

/** A connection to a server, or to all servers of a cluster. Each command, script or transaction uses keys of one shard. */
export type RedisClient = Redis | Cluster;

/** The behaviour of commands while Redis is unreachable. */
export type ConnectionUse =
  /** Commands wait until Redis is back. For workers, which retry their jobs anyway. */
  | 'patient'
  /** Commands fail at once. For producers, which must not confirm an update that Redis did not store. */
  | 'impatient';

/** The longest wait of a blocking read. Shorter than the socket timeout, so that an idle stream's socket does not look dead. */
export const BLOCK_MS = 5_000;

const SOCKET_TIMEOUT_MS = 8_000;
/** Shorter, because impatient connections have no blocking commands, and a poller must reconnect soon after its lease ends. */
const IMPATIENT_TIMEOUT_MS = 3_000;
const RECONNECT_MAX_MS = 2_000;
/** The pause between checks of whether a server has loaded its data. */
const LOADING_LOOK_MS = 500;
/** How often a patient command on a cluster may be redirected or repeated: often enough for a failover, but not for ever. */
const TRIES_MAX = 1_500;
const TRY_AGAIN_MS = 200;
const MOVED_MS = 50;
const IMPATIENT_TRIES_MAX = 16;
/** The interval at which a connection refreshes its view of the cluster, even if no reply announces a change. */
const LOOK_MS = 15_000;
const LOOK_TIMEOUT_MS = 3_000;
/** Short, so that a silent sentinel delays the query of the next sentinel only a little. */
const SENTINEL_TIMEOUT_MS = 1_500;

/**
 * Opens a connection, which reconnects for ever, with a limited backoff. The connection replaces a socket that brings no bytes
 * for 8 s (3 s if impatient) while a command waits, because the socket may be half open. After a lost reply, ioredis may send
 * a command again, which is safe because the gateway's writes are idempotent.
 *
 * The connection to a single server, or to a master that sentinels watch, becomes ready only once the server is a primary that
 * has loaded its data, and reconnects when the server becomes a replica. So it follows failovers. On a cluster, commands follow
 * redirections: a patient command waits for the end of a failover, up to some minutes; an impatient command fails if the node
 * of its key is unreachable, whatever the state of the other nodes.
 */
export function connectRedis(address: string, use: ConnectionUse): Redis;
export function connectRedis(address: RedisAddress, use: ConnectionUse): RedisClient;
export function connectRedis(address: RedisAddress, use: ConnectionUse): RedisClient {
  const redis = connectTo(address, use);
  // Without a listener, ioredis prints errors to the console. Callers get the same errors from their commands.
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

/** Connects to the primary that the sentinels name. When they name another primary, closes the connection and reconnects. */
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
    // With the ready check, the promise of a connect to a cluster that is down would never settle, and BullMQ awaits it.
    // Without the check, commands wait or fail instead.
    enableReadyCheck: false,
    maxRedirections: isPatient ? TRIES_MAX : IMPATIENT_TRIES_MAX,
    retryDelayOnFailover: isPatient ? TRY_AGAIN_MS : 0,
    retryDelayOnClusterDown: isPatient ? TRY_AGAIN_MS : 0,
    retryDelayOnTryAgain: TRY_AGAIN_MS,
    retryDelayOnMoved: MOVED_MS,
    slotsRefreshInterval: LOOK_MS,
    slotsRefreshTimeout: LOOK_TIMEOUT_MS,
    // Pass on names instead of addresses: each connect resolves the name, and TLS checks the certificate against the name.
    dnsLookup: (host, done) => done(null, host),
    redisOptions: {
      ...SOCKET,
      ...(!isPatient && { socketTimeout: IMPATIENT_TIMEOUT_MS }),
      ...accessOf(urls[0] ?? ''),
      maxRetriesPerRequest: null,
      reconnectOnError: noteRefusal,
    },
  });
  // Connect each new node at once: otherwise it connects on its first command, and impatient commands fail meanwhile.
  if (!isPatient) cluster.on('+node', (node: Redis) => void node.connect().catch(() => {}));
  return cluster;
}

function nodeOf(url: string): { host: string; port: number } {
  const { hostname, port } = new URL(url);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) };
}

/** The credentials and encryption of an address. They apply to every node, also to those that only the cluster announces. */
function accessOf(url: string) {
  const { protocol, username, password } = new URL(url);
  return {
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' && { tls: {} }),
  };
}

/** Waits until commands can be sent. Rejects after `deadlineMs` with a sentence for the operator. */
export async function untilReady(redis: RedisClient, deadlineMs: number): Promise<void> {
  const deadline = new AbortController();
  try {
    const isReady = untilServed(redis, deadline.signal).then(() => true);
    if (!(await within(isReady, deadlineMs))) throw new Error(problemOf(redis));
  } finally {
    deadline.abort();
  }
}

async function untilServed(redis: RedisClient, signal: AbortSignal): Promise<void> {
  if (redis.status !== 'ready') await nextReady(redis, signal);
  if (!(redis instanceof Cluster)) return;
  // A node may be connected although its cluster is down, and impatient commands fail until their node is connected.
  while (!signal.aborted && !((await isWhole(redis)) && isConnected(redis))) await pause(TRY_AGAIN_MS, signal);
}

/** Resolves when the connection becomes ready the next time. Never settles if `signal` aborts first. */
export function nextReady(redis: RedisClient, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  redis.once('ready', resolve);
  signal.addEventListener('abort', () => redis.off('ready', resolve), { once: true });
  return promise;
}

/** Whether each master of a cluster is connected, or will connect on its first command. */
function isConnected(cluster: Cluster): boolean {
  return cluster.nodes('master').every(({ status }) => status === 'ready' || status === 'wait');
}

async function isWhole(cluster: Cluster): Promise<boolean> {
  return String(await cluster.cluster('INFO').catch(() => '')).includes('cluster_state:ok');
}

const UNREACHED = 'Redis did not answer, or it is a replica. Check REDIS_URL and that the server is running.';
const UNNAMED =
  'The Redis behind the sentinels did not answer. Check REDIS_SENTINELS, REDIS_SENTINEL_MASTER and its password, and what SENTINEL GET-MASTER-ADDR-BY-NAME says.';

function problemOf(redis: RedisClient): string {
  if (!(redis instanceof Cluster)) return redis.options.sentinels ? UNNAMED : UNREACHED;
  const look = 'CLUSTER INFO on one of its nodes says more';
  return `The Redis Cluster did not answer, or it is down. Check REDIS_CLUSTER_NODES, its password included, and that all slots are served; ${look}.`;
}

/** The connection to the server, or to each master of a cluster. For requests that are about a server and not about a key. */
export function serversOf(redis: RedisClient): readonly Redis[] {
  return redis instanceof Cluster ? redis.nodes('master') : [redis];
}

/** The connection to the server that holds a key; `undefined` while that server is unknown. Sends no request. */
function serverOf(redis: RedisClient, key: string): Redis | undefined {
  if (!(redis instanceof Cluster)) return redis;
  const name = redis.slots[new Command('get', [key]).getSlot() ?? -1]?.[0];
  return redis.nodes('master').find(({ options }) => `${options.host}:${options.port}` === name);
}

/** Whether the connection to the server that holds a key is ready. Sends no request. */
export function isReadyFor(redis: RedisClient, key: string): boolean {
  return redis.status === 'ready' && serverOf(redis, key)?.status === 'ready';
}

/**
 * Makes a connection write all commands of one tick of the event loop to a socket at once. A separate write for each command
 * costs more than the command itself.
 */
function writeOncePerTick(redis: Redis | Cluster): void {
  if (redis instanceof Cluster) redis.on('+node', corkEachSocket);
  else corkEachSocket(redis);
}

function corkEachSocket(redis: Redis): void {
  redis.on('connect', () => cork((redis as unknown as { stream: Duplex }).stream));
}

/** Corks the socket at the first write of a tick, and uncorks it at the end of the tick. */
function cork(socket: Duplex): void {
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
  const release = (): void => {
    isCorked = false;
    socket.uncork();
  };
  let isCorked = false;
  socket.write = (...args: unknown[]): boolean => {
    if (!isCorked) {
      isCorked = true;
      socket.cork();
      setImmediate(release);
    }
    return write(...args);
  };
}

const SCAN_COUNT = 1_000;

/** Yields the keys with a prefix on all servers, without the prefix. A key may repeat. Rejects when Redis cannot be reached. */
export async function* keysBehind(redis: RedisClient, prefix: string): AsyncGenerator<string> {
  for (const server of serversOf(redis)) {
    let cursor = '0';
    do {
      const [next, found] = await server.scan(cursor, 'MATCH', `${prefix}*`, 'COUNT', SCAN_COUNT);
      for (const key of found) yield key.slice(prefix.length);
      cursor = next;
    } while (cursor !== '0');
  }
}
