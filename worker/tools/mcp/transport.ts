import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync } from 'node:fs';
import { deserializeMessage, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { FetchLike, Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { pause } from '../../../shared/base/lifecycle.ts';
import type { StdioServer } from './config.ts';
import { confined, type Sandbox } from './sandbox.ts';

export interface ChildPorts {
  /** Home in a sandbox, and working folder where the configuration names none; created when missing, for its user alone. */
  folder: string;
  sandbox: Sandbox;
  /** A longer message ends the connection. */
  messageBytesMax: number;
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
 * settings and data are. `close` resolves when the child, and what it left in its process group or behind its sandbox, is
 * gone.
 */
export function createChild(server: StdioServer, ports: ChildPorts): Transport {
  let child: ChildProcessWithoutNullStreams | undefined;
  let closing: Promise<void> | undefined;
  let isOver = false;
  const end = (reason: string) => {
    if (isOver) return;
    isOver = true;
    ports.onEnd(reason);
  };
  const receive = (line: Buffer) => {
    if (isOver || line.length === 0) return;
    try {
      transport.onmessage?.(deserializeMessage(line.toString()));
    } catch {
      // Many servers also print lines that are not messages.
      transport.onerror?.(new Error('a line that is no message'));
    }
  };
  const transport: Transport = {
    async start() {
      // Synchronous: a child that starts after the close would be left behind.
      child = spawnServer(server, ports);
      let said = '';
      child.on('error', (error) => end(error.message));
      // Of a process that ends, the input closes first: how it ended, and what it said, tells more.
      child.stdin.on('error', async (error) => {
        await lastWords(child);
        if (!hasEnded(child)) end(`its input is closed: ${error.message}${said}`);
      });
      child.stdout.on(
        'data',
        lineReader(ports.messageBytesMax, receive, () => end(tooLarge(ports.messageBytesMax))),
      );
      const onLine = limited((line) => {
        if (FAULT.test(line)) said = `; it said: ${line}`;
        ports.onStderr(line);
      });
      child.stderr.on('data', lineReader(STDERR_LINE_BYTES_MAX, onLine, onLine));
      child.once(
        'exit',
        (code, signal) => void lastWords(child).then(() => end(`its process ended: ${signal ?? code}${said}`)),
      );
      await once(child, 'spawn');
    },
    async send(message) {
      if (child === undefined || isOver) throw new Error('the process is not there');
      await written(child, serializeMessage(message));
    },
    close() {
      end('closed by us');
      closing ??= endGroup(child, ports.graceMs, ports.sandbox.kind === 'bwrap');
      return closing;
    },
  };
  return transport;
}

/** Why a connection that sends too much ends. */
export function tooLarge(bytesMax: number): string {
  return `it sent a message of more than ${bytesMax} bytes`;
}

/** In its own process group, so that a starter such as npx ends together with what it starts. */
function spawnServer(server: StdioServer, { folder, sandbox }: ChildPorts): ChildProcessWithoutNullStreams {
  if (server.cwd === undefined || sandbox.kind !== 'none') mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (sandbox.kind === 'user') chownSync(folder, sandbox.uid, sandbox.gid);
  const { command, args, ...how } = confined(server, folder, sandbox);
  return spawn(command, args, { ...how, stdio: 'pipe', detached: true });
}

/** Waits until the pipes are read to their end; the child's own children may hold them open for ever. */
async function lastWords(child: ChildProcessWithoutNullStreams | undefined): Promise<void> {
  const closed = new AbortController();
  child?.once('close', () => closed.abort());
  await pause(LAST_WORDS_MS, closed.signal);
}

/** Writes to a child. Rejects when it does not read any more, once it has had time to say why. */
async function written(child: ChildProcessWithoutNullStreams, text: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  child.stdin.write(text, (error) => (error ? lastWords(child).then(() => reject(error)) : resolve()));
  return promise;
}

function hasEnded(child: ChildProcessWithoutNullStreams | undefined): boolean {
  return child?.exitCode !== null || child.signalCode !== null;
}

/** Limits the lines per minute, and says when more were dropped. */
function limited(onLine: (line: string) => void): (line: Buffer) => void {
  let written = 0;
  let since = performance.now();
  return (line) => {
    if (performance.now() - since > 60_000) {
      since = performance.now();
      written = 0;
    }
    const text = line.subarray(0, STDERR_LINE_BYTES_MAX).toString().trimEnd();
    if (text === '') return;
    written += 1;
    if (written <= STDERR_LINES_PER_MINUTE) onLine(text);
    else if (written === STDERR_LINES_PER_MINUTE + 1) onLine('[it writes more lines than are written of in a minute]');
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

const LOOK_MS = 10;

/**
 * Ends a child as MCP asks: its input ends first, then come SIGTERM and at last SIGKILL, for the whole group. Nothing
 * outlives a child that is a sandbox (`endsAll`): what was in it is gone, even if the system still counts it.
 */
export async function endGroup(
  child: ChildProcessWithoutNullStreams | undefined,
  graceMs: number,
  endsAll: boolean,
): Promise<void> {
  if (child?.pid === undefined) return;
  const { pid } = child;
  const isGone = () => (endsAll ? hasEnded(child) : !signalGroup(pid, 0));
  child.stdin.end();
  // Further output is discarded, but the pipe must not fill: that would keep the child from ending.
  child.stdout.resume();
  if (await comesTrue(isGone, graceMs)) return;
  signalGroup(pid, 'SIGTERM');
  if (await comesTrue(isGone, graceMs)) return;
  signalGroup(pid, 'SIGKILL');
  await comesTrue(isGone, graceMs);
}

async function comesTrue(isSo: () => boolean, ms: number): Promise<boolean> {
  for (const deadline = performance.now() + ms; performance.now() < deadline; await pause(LOOK_MS)) {
    if (isSo()) return true;
  }
  return isSo();
}

/** Whether any process got the signal. A group id is not reused while the group has a process. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pid, signal);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

const JSON_INTERNAL_ERROR = -32_603;

/**
 * A `fetch` for a server that may answer with anything: the SDK's transport reads a message of any size, and here reading
 * stops at one of more than `bytesMax` bytes.
 *
 * Contract: an answer that is too large ends only its own request, with an error text, and a stream that answers no
 * request ends with `onTooLarge`. No more than one message is held at a time.
 */
export function boundedFetch(bytesMax: number, onTooLarge: () => void): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.body === null) return response;
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    const asked = typeof init?.body === 'string' ? (JSON.parse(init.body) as Asked) : {};
    let bytes = 0;
    const bounded = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const end = isStream ? endOfLastEvent(chunk) : 0;
        bytes = chunk.length - end + (end === 0 ? bytes : 0);
        if (bytes <= bytesMax) return controller.enqueue(chunk);
        if (!isStream) return controller.error(new Error(unread(bytesMax)));
        if (asked.id === undefined) onTooLarge();
        else controller.enqueue(Buffer.from(`\n\nevent: message\ndata: ${refusalOf(asked, bytesMax)}\n\n`));
        controller.terminate();
      },
    });
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(bounded), { status, statusText, headers });
  };
}

/** The parts of a JSON-RPC message that tell of a request. */
interface Asked {
  id?: unknown;
  method?: unknown;
}

/** The end of the last event in a chunk, which is after an empty line; 0 where none ends there. */
function endOfLastEvent(chunk: Uint8Array): number {
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  const [lines, crlfLines] = [bytes.lastIndexOf('\n\n'), bytes.lastIndexOf('\r\n\r\n')];
  return Math.max(lines === -1 ? 0 : lines + 2, crlfLines === -1 ? 0 : crlfLines + 4);
}

function unread(bytesMax: number): string {
  return `The answer was left unread: it had more than ${bytesMax} bytes. The call may have taken effect. Ask for less at a time.`;
}

/** A result where a tool was called, and not an error: after an error the SDK would request the rest of the stream again. */
function refusalOf({ id, method }: Asked, bytesMax: number): string {
  const text = unread(bytesMax);
  const refusal =
    method === 'tools/call'
      ? { result: { content: [{ type: 'text', text }], isError: true } }
      : { error: { code: JSON_INTERNAL_ERROR, message: text } };
  return JSON.stringify({ jsonrpc: '2.0', id, ...refusal });
}
