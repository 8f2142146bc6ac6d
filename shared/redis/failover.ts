import { createConnection, type NetConnectOpts } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { AbstractConnector, type Cluster, Redis, type RedisOptions } from 'ioredis';

/**
 * What a server says that is not the one to write to, or not now: a replica, also one that was the primary until a moment
 * ago and kept its sockets open; one that loads its data or copies it from its primary. A script of an older server wraps
 * it in words of its own. That a primary has too few replicas (NOREPLICAS) is not among them: whoever is asked anew is the
 * same server, and says the same.
 */
const ELSEWHERE = /(?:^|[\s-])(?:READONLY|MASTERDOWN|LOADING|UNBLOCKED) /;
/**
 * What may be sent again by itself: scripts, and reads that wait. Nobody tells us whether a plain command was part of a
 * transaction, of which the rest is refused; its caller has to try again.
 */
const WHOLE = new Set(['eval', 'evalsha', 'bzpopmin', 'xread', 'xreadgroup']);

/**
 * Decides what an error of the server does to its connection: `1` replaces it and lets the command fail, `2` replaces it
 * and sends the command again, `false` leaves all as it is.
 */
export function reconnectOn(use: 'patient' | 'impatient'): (error: Error) => 1 | 2 | false {
  return (error) => {
    if (!ELSEWHERE.test(error.message)) return false;
    const { command } = error as Error & { command?: { name: string } };
    return use === 'patient' && WHOLE.has(command?.name.toLowerCase() ?? '') ? 2 : 1;
  };
}

/**
 * Opens sockets to one server, and takes a connection for usable only while that server is no replica. Until then the
 * connection is opened again and again, with the backoff of one that is refused. What is sent meanwhile waits, or fails.
 */
export class PrimaryConnector extends AbstractConnector {
  readonly #options: RedisOptions;

  constructor(options: unknown) {
    const given = options as RedisOptions;
    super(given.disconnectTimeout ?? DISCONNECT_MS);
    this.#options = given;
  }

  override check(info: { role?: string }): boolean {
    return info.role !== 'slave';
  }

  override async connect() {
    const { host, port, path, family, tls } = this.#options;
    this.connecting = true;
    // Whoever asked must be able to take it back first.
    await Promise.resolve();
    if (!this.connecting) throw new Error('Connection is closed.');
    const where = (path ? { path } : { host, port, family }) as NetConnectOpts;
    const stream = tls ? connectTls({ ...where, ...tls } as ConnectionOptions) : createConnection(where);
    stream.once('error', (error) => {
      this.firstError = error;
    });
    this.stream = stream;
    return stream;
  }
}

const DISCONNECT_MS = 2_000;

/**
 * Waits until a stream has an entry after `newest`, or some seconds. A replica answers reads too, so a wait that brought
 * nothing ends with a look at what the server is: one that is a replica by now is left. Rejects when Redis is away.
 */
export async function untilNews(
  redis: Redis | Cluster,
  stream: string,
  newest: string,
  blockMs: number,
): Promise<void> {
  const news = await redis.xread('COUNT', 1, 'BLOCK', blockMs, 'STREAMS', stream, newest);
  // A node of a cluster sends whoever asks to the one that holds the key.
  if (news !== null || !(redis instanceof Redis)) return;
  const info = await redis.info('replication').catch(() => '');
  if (/^role:slave/m.test(info)) redis.disconnect(true);
}
