import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync } from 'node:fs';
import { deserializeMessage, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { pause } from '../../../shared/base/lifecycle.ts';
import type { StdioServer } from './config.ts';
import { type Guard, tooLarge, type Weighed } from './guard.ts';
import { endGroup, hasEnded, watchLeftovers, watchUse } from './processes.ts';
import { confined, type Sandbox } from './sandbox.ts';

export interface ChildPorts {
  /** Home in a sandbox, and working folder where the configuration names none; created when missing, for its user alone. */
  folder: string;
  sandbox: Sandbox;
  /** How long a child may take to end when its input ends, and then again after SIGTERM. */
  graceMs: number;
  /** Called with each line on its standard error, up to a rate. */
  onStderr(line: string): void;
  /** Called once with the reason why no further message will arrive. */
  onEnd(reason: string): void;
}

const STDERR_LINE_BYTES_MAX = 2_000;
const STDERR_LINES_PER_MINUTE = 600;
/** A word in a line that is likely to say why a program ends. */
const FAULT = /\b(?:error|can't|cannot|no such|not found|denied|refused)\b/i;
/** How long reading the last messages of an ended process may take. */
const LAST_WORDS_MS = 200;

/**
 * A child process that speaks MCP on its standard input and output, as a transport of the SDK. The SDK's own starts no
 * process group, and no child as another user: what a child starts would outlive it, and the sandbox of a user not be.
 *
 * Contract: of our environment the child gets only what every program needs, and it does not start in our folder, where
 * settings and data are. `close` resolves when the child and all that it started are gone; they also end when this process
 * is killed. The guard ends the connection of a child that exceeds its limits.
 */
export function createChild(server: StdioServer, guard: Guard, ports: ChildPorts): Transport {
  let started: Started | undefined;
  let closing: Promise<void> | undefined;
  let isOver = false;
  const end = (reason: string) => {
    if (isOver) return;
    isOver = true;
    ports.onEnd(reason);
  };
  const receive = (line: Buffer) => {
    if (isOver || guard.broken() !== undefined) return;
    const message = messageOf(line);
    const extra: Weighed = { bytes: line.length };
    if (message !== undefined) transport.onmessage?.(message, extra);
    // Many servers also print lines that are not messages.
    else guard.count(1, line.length);
  };
  const transport: Transport = {
    async start() {
      // Synchronous: a child that starts after the close would be left behind.
      started = startServer(server, guard, ports);
      const { child, lastWords } = started;
      let said = '';
      child.on('error', (error) => end(error.message));
      // Of a process that ends, the input closes first: how it ended, and what it said, tells more.
      child.stdin.on('error', async (error) => {
        await lastWords();
        if (!hasEnded(child)) end(`its input is closed: ${error.message}${said}`);
      });
      const bytesMax = guard.bounds.messageBytesMax;
      const onLong = () => guard.breach(tooLarge(bytesMax));
      child.stdout.on('data', lineReader(bytesMax, receive, onLong));
      const onLine = (line: string) => {
        if (FAULT.test(line)) said = `; it said: ${line}`;
        ports.onStderr(line);
      };
      child.stderr.on('data', limitedLines(onLine));
      child.once(
        'exit',
        (code, signal) => void lastWords().then(() => end(`its process ended: ${signal ?? code}${said}`)),
      );
      await once(child, 'spawn');
    },
    async send(message) {
      if (started === undefined || isOver) throw new Error('the process is not there');
      await written(started, serializeMessage(message));
    },
    async close() {
      end('closed by us');
      closing ??= started?.end();
      await closing;
    },
  };
  return transport;
}

/** Nothing for a line that is no message. */
function messageOf(line: Buffer): JSONRPCMessage | undefined {
  try {
    return deserializeMessage(line.toString());
  } catch {
    return undefined;
  }
}

/** A running server, and the way to end it with all that it started. */
interface Started {
  child: ChildProcessWithoutNullStreams;
  /** Waits until the pipes are read to their end; the child's own children may hold them open for ever. */
  lastWords(): Promise<void>;
  end(): Promise<void>;
}

/** In its own process group, so that a starter such as npx ends together with what it starts. */
function startServer(server: StdioServer, guard: Guard, { folder, sandbox, graceMs }: ChildPorts): Started {
  if (server.cwd === undefined || sandbox.kind !== 'none') mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (sandbox.kind === 'user') chownSync(folder, sandbox.uid, sandbox.gid);
  const { command, args, ...how } = confined(server, folder, sandbox);
  const child = spawn(command, args, { ...how, stdio: 'pipe', detached: true });
  const { pid } = child;
  // Once for all messages that wait at the end.
  let closed: Promise<void> | undefined;
  const lastWords = () => (closed ??= untilClosed(child));
  if (pid === undefined) return { child, lastWords, end: async () => undefined };
  const isNamespace = sandbox.kind === 'bwrap';
  const endLeftovers = isNamespace ? undefined : watchLeftovers(folder, graceMs);
  const stopWatch = watchUse(pid, server.limits, guard.breach);
  return {
    child,
    lastWords,
    async end() {
      stopWatch();
      // A server beyond its bounds gets no time to go on with it.
      await endGroup(child, guard.broken() === undefined ? graceMs : 0, isNamespace);
      await endLeftovers?.();
    },
  };
}

function untilClosed(child: ChildProcessWithoutNullStreams): Promise<void> {
  const closed = new AbortController();
  child.once('close', () => closed.abort());
  return pause(LAST_WORDS_MS, closed.signal);
}

/** Writes to a child. Rejects when it does not read any more, once it has had time to say why. */
async function written({ child, lastWords }: Started, text: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  child.stdin.write(text, (error) => (error ? lastWords().then(() => reject(error)) : resolve()));
  return promise;
}

/** Reads lines up to a rate, and says when more were dropped. Beyond the rate not even their ends are looked for. */
function limitedLines(onLine: (line: string) => void): (chunk: Buffer) => void {
  let lines = 0;
  let since = performance.now();
  const take = (line: Buffer) => {
    lines += 1;
    if (lines > STDERR_LINES_PER_MINUTE + 1) return;
    const text = line.subarray(0, STDERR_LINE_BYTES_MAX).toString().trimEnd();
    if (lines > STDERR_LINES_PER_MINUTE) onLine('[it writes more lines than are written of in a minute]');
    else if (text !== '') onLine(text);
  };
  const read = lineReader(STDERR_LINE_BYTES_MAX, take, take);
  return (chunk) => {
    if (performance.now() - since > 60_000) {
      since = performance.now();
      lines = 0;
    }
    if (lines <= STDERR_LINES_PER_MINUTE) read(chunk);
  };
}

/** Splits chunks into lines and reads each byte once. A line that is too long is reported as far as it arrived. */
export function lineReader(bytesMax: number, onLine: (line: Buffer) => void, onLong: (start: Buffer) => void) {
  let parts: Buffer[] = [];
  let bytes = 0;
  const take = (onLine: (line: Buffer) => void) => {
    const line = Buffer.concat(parts);
    parts = [];
    bytes = 0;
    onLine(line);
  };
  const add = (part: Buffer) => {
    parts.push(part);
    bytes += part.length;
    if (bytes > bytesMax) take(onLong);
  };
  return (chunk: Buffer) => {
    let start = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, start)) {
      add(chunk.subarray(start, at));
      take(onLine);
      start = at + 1;
    }
    add(chunk.subarray(start));
  };
}
