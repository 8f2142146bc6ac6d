import { createConnection, type NetConnectOpts } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { AbstractConnector, type Cluster, Redis, type RedisOptions } from 'ioredis';

/**
 * The errors of a server that accepts no writes at present: a replica (perhaps a former primary whose sockets stayed open), or
 * a server that still loads or copies its data. A new connection may reach another server. In errors of scripts, older servers
 * put other text around these words. NOREPLICAS (a primary with too few replicas) is not listed, because a new connection would
 * reach the same server.
 */
const WRONG_SERVER = /(?:^|[\s-])(?:READONLY|MASTERDOWN|LOADING|UNBLOCKED) /;
/**
 * Commands that ioredis may send again: scripts, and blocking reads. Any other command may belong to a transaction that has
 * failed as a whole, which is not visible here. So the caller must retry.
 */
const REPEATABLE = new Set(['eval', 'evalsha', 'bzpopmin', 'xread', 'xreadgroup']);

/** Errors of Redis 6 to 8 about a missing permission for a command, a key, or a command of a script. */
const NO_PERMISSION = /^NOPERM |ACL failure in script|The user executing the script can't/;
/** Commands that the gateway does not need to answer messages, but only for reports and maintenance. */
const OPTIONAL = new Set(['acl', 'bgrewriteaof', 'client', 'cluster', 'config']);
let onRefusal: ((problem: string) => void) | undefined;

/**
 * Sets the listener of this process, which is called once if the Redis user lacks the permission for a command that the gateway
 * needs. The listener should end the process, because no retry can succeed.
 */
export function whenRefused(listener: (problem: string) => void): void {
  onRefusal = listener;
}

/** Calls the listener of `whenRefused` if a needed permission is missing. Always returns false: the connection stays open. */
export function noteRefusal(error: Error): false {
  const { command, message } = error as Error & { command?: { name: string } };
  const name = command?.name.toLowerCase() ?? '';
  if (!NO_PERMISSION.test(message) || OPTIONAL.has(name)) return false;
  onRefusal?.(refusalOf(name, message));
  onRefusal = undefined;
  return false;
}

function refusalOf(command: string, message: string): string {
  const reply = message.split('\n')[0]?.slice(0, 200);
  return `Redis does not let this user run ${command.toUpperCase()} (${reply}), and the gateway cannot work without that. Give the user all commands but administration, and INFO: ACL SETUSER <user> +@all -@admin -@dangerous +info +keys.`;
}

/**
 * The function `reconnectOnError` for ioredis. It returns `1` to replace the connection and fail the command, `2` to replace
 * the connection and send the command again, or `false` to continue with the connection.
 */
export function reconnectOn(use: 'patient' | 'impatient'): (error: Error) => 1 | 2 | false {
  return (error) => {
    if (!WRONG_SERVER.test(error.message)) return noteRefusal(error);
    const { command } = error as Error & { command?: { name: string } };
    return use === 'patient' && REPEATABLE.has(command?.name.toLowerCase() ?? '') ? 2 : 1;
  };
}

/**
 * Opens sockets to one server, and accepts a connection only if the server is not a replica. Otherwise ioredis reconnects with
 * its usual backoff; meanwhile commands wait on a patient connection and fail on an impatient one.
 */
export class PrimaryConnector extends AbstractConnector {
  readonly #options: RedisOptions;

  constructor(options: unknown) {
    const redisOptions = options as RedisOptions;
    super(redisOptions.disconnectTimeout ?? DISCONNECT_MS);
    this.#options = redisOptions;
  }

  override check(info: { role?: string }): boolean {
    return info.role !== 'slave';
  }

  override async connect() {
    const { host, port, path, family, tls } = this.#options;
    this.connecting = true;
    // Let the caller cancel the connection first.
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
 * Waits at most `blockMs` for an entry of a stream after `newest`. A replica answers reads, too. So after a wait without a new
 * entry, this checks the server's role, and reconnects if the server has become a replica. Rejects when Redis cannot be
 * reached.
 */
export async function untilNews(
  redis: Redis | Cluster,
  stream: string,
  newest: string,
  blockMs: number,
): Promise<void> {
  const news = await redis.xread('COUNT', 1, 'BLOCK', blockMs, 'STREAMS', stream, newest);
  // On a cluster, a replica redirects the read to its primary, so the role needs no check.
  if (news !== null || !(redis instanceof Redis)) return;
  const info = await redis.info('replication').catch(() => '');
  if (/^role:slave/m.test(info)) redis.disconnect(true);
}
