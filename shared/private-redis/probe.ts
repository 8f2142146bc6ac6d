import { connect, type Socket } from 'node:net';
import { socketPath } from '../base/redis-address.ts';

export type RedisReply = string | number | null | RedisReply[];

/** One connection to a Redis server on this machine, for a few questions about the server itself. */
export type RedisProbe = {
  /** Sends one command and resolves with its reply. Rejects on an error reply, a closed connection and a timeout. */
  ask(...command: string[]): Promise<RedisReply>;
  /** Lets the process end although the connection is open. */
  unref(): void;
  /** Calls back once when the connection ends for any reason other than `close`. */
  onLost(callback: () => void): void;
  close(): void;
};

/** Rejects when nobody listens on the socket of `url`, or the connection is not accepted within `timeoutMs`. */
export function openProbe(url: string, timeoutMs: number): Promise<RedisProbe> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath(url));
    const timer = setTimeout(() => socket.destroy(new Error(`${url} did not answer.`)), timeoutMs);
    socket.once('error', reject);
    socket.once('close', () => clearTimeout(timer));
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.off('error', reject);
      // Each query has its own error listener; without this one, the end of an idle connection would be a crash.
      socket.on('error', () => undefined);
      // A connection that is never read would not notice its end.
      socket.resume();
      resolve(probeOn(socket, timeoutMs));
    });
  });
}

function probeOn(socket: Socket, timeoutMs: number): RedisProbe {
  let closing = false;
  return {
    ask: (...command) => exchange(socket, command, timeoutMs),
    unref: () => socket.unref(),
    onLost: (callback) =>
      socket.once('close', () => {
        if (!closing) callback();
      }),
    close: () => {
      closing = true;
      socket.destroy();
    },
  };
}

function exchange(socket: Socket, command: string[], timeoutMs: number): Promise<RedisReply> {
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0);
    const onData = (chunk: Buffer): void => {
      received = Buffer.concat([received, chunk]);
      const parsed = parseReply(received, 0);
      if (parsed === undefined) return;
      finish();
      if (parsed.value instanceof Error) reject(parsed.value);
      else resolve(parsed.value);
    };
    const onClose = (): void => {
      finish();
      reject(new Error('Redis closed the connection.'));
    };
    const timer = setTimeout(() => {
      finish();
      reject(new Error(`Redis did not answer ${command[0]} within ${timeoutMs} ms.`));
    }, timeoutMs);
    const finish = (): void => {
      clearTimeout(timer);
      socket.off('data', onData);
      socket.off('close', onClose);
    };
    if (socket.destroyed) return onClose();
    socket.on('data', onData);
    socket.on('close', onClose);
    socket.write(encode(command));
  });
}

function encode(command: string[]): string {
  const parts = command.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`);
  return `*${command.length}\r\n${parts.join('')}`;
}

type Parsed = { value: RedisReply | Error; end: number };

/** The reply that begins at `from` and where it ends, or undefined while it is incomplete. RESP2 only. */
function parseReply(bytes: Buffer, from: number): Parsed | undefined {
  const lineEnd = bytes.indexOf('\r\n', from);
  if (lineEnd === -1) return undefined;
  const line = bytes.toString('utf8', from + 1, lineEnd);
  const end = lineEnd + 2;
  switch (bytes.toString('latin1', from, from + 1)) {
    case '+':
      return { value: line, end };
    case '-':
      return { value: new Error(line), end };
    case ':':
      return { value: Number(line), end };
    case '$':
      return parseBulk(bytes, end, Number(line));
    case '*':
      return parseArray(bytes, end, Number(line));
    default:
      return { value: new Error(`This is no Redis reply: ${line.slice(0, 80)}`), end };
  }
}

function parseBulk(bytes: Buffer, from: number, length: number): Parsed | undefined {
  if (length === -1) return { value: null, end: from };
  if (bytes.length < from + length + 2) return undefined;
  return { value: bytes.toString('utf8', from, from + length), end: from + length + 2 };
}

function parseArray(bytes: Buffer, from: number, length: number): Parsed | undefined {
  if (length === -1) return { value: null, end: from };
  const items: RedisReply[] = [];
  let end = from;
  for (let index = 0; index < length; index += 1) {
    const item = parseReply(bytes, end);
    if (item === undefined) return undefined;
    if (item.value instanceof Error) return { value: item.value, end: item.end };
    items.push(item.value);
    end = item.end;
  }
  return { value: items, end };
}
