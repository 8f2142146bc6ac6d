import { createConnection, type NetConnectOpts } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { AbstractConnector, type Cluster, Redis, type RedisOptions } from 'ioredis';

/**
 * The errors of a server that is not the one to write to, or not now: a replica, including a former primary that kept
 * its sockets open; a server that loads its data or copies it from its primary. A script error of an older server wraps
 * them in other words. NOREPLICAS (a primary with too few replicas) is not among them: a new connection reaches the
 * same server and the same error.
 */
const ELSEWHERE = /(?:^|[\s-])(?:READONLY|MASTERDOWN|LOADING|UNBLOCKED) /;
/**
 * Commands that may be re-sent automatically: scripts, and blocking reads. A plain command may be part of a transaction
 * whose rest is refused, which we cannot see here; its caller has to retry.
 */
const WHOLE = new Set(['eval', 'evalsha', 'bzpopmin', 'xread', 'xreadgroup']);

/** No permission for a command, for a key, or for a command of a script, as Redis 6 to 8 say it. */
const REFUSED = /^NOPERM |ACL failure in script|The user executing the script can't/;
/** Commands without which the gateway only knows less. */
const OPTIONAL = new Set(['acl', 'bgrewriteaof', 'client', 'cluster', 'config']);
let onRefusal: ((problem: string) => void) | undefined;

/**
 * Calls back, once, when Redis refuses this process a command that it needs: asking again would be refused for ever. One
 * listener a process.
 */
export function whenRefused(listener: (problem: string) => void): void {
  onRefusal = listener;
}

/** Tells the listener if an error is such a refusal. Closes no connection. */
export function noteRefusal(error: Error): false {
  const { command, message } = error as Error & { command?: { name: string } };
  const name = command?.name.toLowerCase() ?? '';
  if (!REFUSED.test(message) || OPTIONAL.has(name)) return false;
  onRefusal?.(refusalOf(name, message));
  onRefusal = undefined;
  return false;
}

function refusalOf(command: string, message: string): string {
  const said = message.split('\n')[0]?.slice(0, 200);
  return `Redis does not let this user run ${command.toUpperCase()} (${said}), and the gateway cannot work without that. Give the user all commands but administration, and INFO: ACL SETUSER <user> +@all -@admin -@dangerous +info +keys.`;
}

/**
 * Decides what a server error does to its connection: `1` replaces it and lets the command fail, `2` replaces it and
 * re-sends the command, `false` changes nothing.
 */
export function reconnectOn(use: 'patient' | 'impatient'): (error: Error) => 1 | 2 | false {
  return (error) => {
    if (!ELSEWHERE.test(error.message)) return noteRefusal(error);
    const { command } = error as Error & { command?: { name: string } };
    return use === 'patient' && WHOLE.has(command?.name.toLowerCase() ?? '') ? 2 : 1;
  };
}

/**
 * Opens sockets to one server, and treats a connection as usable only while that server is no replica. Until then it
 * reconnects with the backoff of a refused connection. Commands sent meanwhile wait, or fail.
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
    // The caller must be able to cancel first.
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
 * Waits until a stream has an entry after `newest`, or some seconds. A replica answers reads too, so a wait without a
 * result ends with a check of the server's role: a server that has become a replica is disconnected. Rejects when Redis
 * is unreachable.
 */
export async function untilNews(
  redis: Redis | Cluster,
  stream: string,
  newest: string,
  blockMs: number,
): Promise<void> {
  const news = await redis.xread('COUNT', 1, 'BLOCK', blockMs, 'STREAMS', stream, newest);
  // A cluster node redirects us to the node that holds the key.
  if (news !== null || !(redis instanceof Redis)) return;
  const info = await redis.info('replication').catch(() => '');
  if (/^role:slave/m.test(info)) redis.disconnect(true);
}
