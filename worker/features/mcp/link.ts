import { chownSync, mkdirSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport, StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ErrorCode, type JSONRPCMessage, McpError } from '@modelcontextprotocol/sdk/types.js';
import { within } from '../../../shared/base/lifecycle.ts';
import { isRunning } from '../../../shared/base/machine.ts';
import type { HttpServer, McpServer, StdioServer } from './config.ts';
import { boundedFetch, Guard, guardTransport } from './guard.ts';
import type { McpLimits } from './limits.ts';
import { watchUse } from './processes.ts';
import { confinedCommand, type Sandbox } from './sandbox.ts';

/** The surroundings of a server that is a program. */
interface ProgramSettings {
  /** The home in a sandbox, and the default working folder. Created if needed, and accessible only to the program's user. */
  folder: string;
  sandbox: Sandbox;
  /** Called with each line of standard error, up to 600 a minute. */
  onStderr(line: string): void;
}

/**
 * One connection to a server, from the attempt to connect until it ends.
 *
 * Contract: nothing throws or rejects except `ready`. A link ends only once, and its end also ends the requests that wait for
 * an answer. Every member may be used at any time and any number of times.
 */
export class Link {
  readonly client = new Client({ name: 'spillway', version: '1' }, { capabilities: {} });
  /** Resolves when the server has answered the handshake; rejects if it does not. */
  readonly ready: Promise<void>;
  readonly #limits: McpLimits;
  readonly #ended = new AbortController();
  readonly #guard: Guard;
  #connection: Connection | undefined;
  #closing: Promise<void> | undefined;
  #isProbing = false;

  /** Starts to connect. */
  constructor(server: McpServer, limits: McpLimits, settings: ProgramSettings) {
    this.#limits = limits;
    this.#guard = new Guard(server.limits.messages, limits.messageBytesMax, (bound) => this.end(bound));
    this.ready = this.#connect(server, settings);
    // Avoid an unhandled rejection while nobody awaits `ready`.
    this.ready.catch(() => undefined);
  }

  /** Aborted when either side has ended the connection; the reason is a text. */
  get endSignal(): AbortSignal {
    return this.#ended.signal;
  }

  /** The bound that the server broke, as a text without words of the server; `undefined` if no bound ended the connection. */
  get brokenBound(): string | undefined {
    return this.#guard.brokenBound;
  }

  /** Pings a connected server, unless a ping is under way, and ends the link if the server does not answer. */
  probe(): void {
    if (this.#isProbing || this.endSignal.aborted || this.client.getServerCapabilities() === undefined) return;
    this.#isProbing = true;
    void isAlive(this.client, this.#limits.probeMs).then((alive) => {
      this.#isProbing = false;
      if (!alive) this.end('it does not answer any more');
    });
  }

  end(reason: string): void {
    if (this.endSignal.aborted) return;
    this.#ended.abort(reason);
    this.client.transport?.onclose?.();
  }

  /** Ends the link. Resolves when the HTTP session or the process has ended, or after some seconds. */
  close(): Promise<void> {
    this.end('closed by us');
    this.#closing ??= this.#connection?.close() ?? Promise.resolve();
    return this.#closing;
  }

  async #connect(server: McpServer, settings: ProgramSettings): Promise<void> {
    this.#connection =
      server.kind === 'stdio'
        ? connectProgram(server, this.#guard, settings, (reason) => this.end(reason))
        : connectSession(server, this.#guard, () => this.probe());
    await this.client.connect(this.#connection.transport, { timeout: this.#limits.connectMs });
  }
}

/** A transport, and a function that ends it together with its session or process. */
interface Connection {
  transport: Transport;
  close(): Promise<void>;
}

/** A line of standard error with one of these words probably says why the program ends. */
const FAULT = /\b(?:error|can't|cannot|no such|not found|denied|refused)\b/i;
/** How long the supervisor may take to kill a program and everything that the program started. */
const KILL_MS = 5_000;

/** The SDK's transport with one write at a time: the SDK's `send` adds a listener to the pipe for each write that waits. */
class Program extends StdioClientTransport {
  #lastWrite = Promise.resolve();

  override send(message: JSONRPCMessage): Promise<void> {
    this.#lastWrite = this.#lastWrite.catch(() => undefined).then(() => super.send(message));
    return this.#lastWrite;
  }
}

/** Starts a program that speaks MCP on its standard input and output. The program also ends when this process is killed. */
function connectProgram(
  server: StdioServer,
  guard: Guard,
  settings: ProgramSettings,
  end: (reason: string) => void,
): Connection {
  const { folder, sandbox, onStderr } = settings;
  if (server.cwd === undefined || sandbox.kind !== 'none') mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (sandbox.kind === 'user') chownSync(folder, sandbox.uid, sandbox.gid);
  const maxBufferSize = guard.messageBytesMax;
  const program = new Program({ ...confinedCommand(server, folder, sandbox), stderr: 'pipe', maxBufferSize });
  let fault = '';
  readLines(program.stderr as Readable, (line) => {
    if (FAULT.test(line)) fault = `; it said: ${line}`;
    onStderr(line);
  });
  let pid: number | undefined;
  let stopWatch = () => {};
  const transport = guardTransport(program, guard);
  transport.start = async () => {
    await program.start();
    pid = program.pid ?? undefined;
    if (pid !== undefined) stopWatch = watchUse(pid, server.limits, (bound) => guard.breach(bound));
  };
  transport.onerror = ({ message }) => {
    if (message.startsWith('ReadBuffer exceeded')) guard.breachSize();
  };
  const exit = Promise.withResolvers<void>();
  program.onclose = () => {
    pid = undefined;
    exit.resolve();
    end(`its process ended${fault}`);
  };
  const close = async () => {
    stopWatch();
    // A server that broke a bound gets no time to end by itself.
    if (guard.brokenBound !== undefined && pid !== undefined && isRunning(pid)) process.kill(pid, 'SIGHUP');
    await program.close();
    await within(exit.promise, KILL_MS);
  };
  return { transport, close };
}

const STDERR_LINE_CHARS_MAX = 2_000;
const STDERR_LINES_PER_MINUTE = 600;

/** Passes on up to 600 lines a minute, each cut to 2,000 characters, and then one line that says that there are more. */
function readLines(stream: Readable, onLine: (line: string) => void): void {
  let [rest, count, sinceMs] = ['', 0, performance.now()];
  stream.setEncoding('utf8').on('data', (text: string) => {
    if (performance.now() - sinceMs > 60_000) [count, sinceMs] = [0, performance.now()];
    if (count > STDERR_LINES_PER_MINUTE) return;
    const lines = (rest + text).split('\n', STDERR_LINES_PER_MINUTE);
    rest = (lines.pop() ?? '').slice(0, STDERR_LINE_CHARS_MAX);
    for (const line of lines) {
      count += 1;
      if (count > STDERR_LINES_PER_MINUTE) return onLine('[it writes more lines than are written of in a minute]');
      if (line.trim() !== '') onLine(line.slice(0, STDERR_LINE_CHARS_MAX).trimEnd());
    }
  });
}

const FAREWELL_MS = 1_000;

/** Opens a session with a server over HTTP. `probe` is called when a request or a stream fails. */
function connectSession({ url, headers }: HttpServer, guard: Guard, probe: () => void): Connection {
  const session = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { ...headers } },
    fetch: boundedFetch(guard),
  });
  const transport = guardTransport(session as Transport, guard);
  // A failed request or stream does not prove that the server is gone, so ping the server.
  transport.onerror = probe;
  const close = async () => {
    await within(session.terminateSession(), FAREWELL_MS).catch(() => undefined);
    await session.close();
  };
  return { transport, close };
}

/** Whether a server answers a ping. A refusal counts as an answer; the error page of a proxy whose server is gone does not. */
async function isAlive(client: Client, probeMs: number): Promise<boolean> {
  try {
    await client.ping({ timeout: probeMs });
    return true;
  } catch (error) {
    if (error instanceof StreamableHTTPError) return error.code === 429 || error.code === 500;
    if (!(error instanceof McpError)) return false;
    return error.code !== ErrorCode.RequestTimeout && error.code !== ErrorCode.ConnectionClosed;
  }
}
