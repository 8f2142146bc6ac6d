import type { Duplex } from 'node:stream';
import { Cluster, type Redis } from 'ioredis';

/**
 * Writes what a connection sends in one tick of the event loop to its socket at once, on each of its sockets. A write of
 * its own for each command costs more than the command itself.
 */
export function writeOncePerTick(redis: Redis | Cluster): void {
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
