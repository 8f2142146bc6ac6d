import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync } from 'node:fs';
import { deserializeMessage, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { pause } from '../../../shared/base/lifecycle.ts';
import type { StdioServer } from './config.ts';
import { lineReader } from './line-reader.ts';
import { endGroup } from './process-group.ts';
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
/** What a line holds that is likely to say why a program ends. */
const FAULT = /\b(?:error|can't|cannot|no such|not found|denied|refused)\b/i;
/** How long reading the last messages of an ended process may take. */
const LAST_WORDS_MS = 200;

/**
 * A child process that speaks MCP on its standard input and output, as a transport of the SDK. The SDK's own transport
 * rescans everything it has of a message with each chunk, which keeps this process busy for many seconds on a large
 * picture, and it leaves the child's own children running.
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
    transport.onclose?.();
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
      child.on('error', (error) => end(error.message));
      child.stdin.on('error', (error) => end(`its input is closed: ${error.message}`));
      child.stdout.on(
        'data',
        lineReader(ports.messageBytesMax, receive, () => end(tooLarge(ports.messageBytesMax))),
      );
      let said = '';
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
    send(message) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      if (child === undefined || isOver) reject(new Error('the process is not there'));
      else child.stdin.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()));
      return promise;
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
