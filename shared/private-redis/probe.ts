import { Redis } from 'ioredis';
import { socketPath } from '../base/redis-address.ts';

/** One connection to a Redis server on this machine, for a few questions about the server itself. */
export type RedisProbe = {
  /** Sends one command. Rejects on an error reply, a closed connection and a timeout. */
  ask(command: string, ...args: string[]): Promise<unknown>;
  /** Lets the process end although the connection is open. */
  unref(): void;
  /** Calls back once when the connection ends for any reason other than `close`. */
  onLost(callback: () => void): void;
  close(): void;
};

/** Rejects when nobody listens on the socket of `url`, or the connection is not accepted within `timeoutMs`. */
export async function openProbe(url: string, timeoutMs: number): Promise<RedisProbe> {
  const redis = new Redis({
    path: socketPath(url),
    lazyConnect: true,
    // A server that still loads its data says so to the one who asks.
    enableReadyCheck: false,
    disableClientInfo: true,
    connectTimeout: timeoutMs,
    commandTimeout: timeoutMs,
    retryStrategy: () => null,
  });
  // Each command rejects by itself; without a listener ioredis would print the end of an idle connection.
  redis.on('error', () => undefined);
  await redis.connect();
  let isClosing = false;
  return {
    ask: (command, ...args) => redis.call(command, ...args),
    unref: () => redis.stream.unref(),
    onLost: (callback) => redis.once('end', () => !isClosing && callback()),
    close() {
      isClosing = true;
      redis.disconnect();
    },
  };
}
