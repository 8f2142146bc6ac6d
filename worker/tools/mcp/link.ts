import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport, StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import { pause } from '../../../shared/base/lifecycle.ts';
import { createChild, tooLarge } from './child.ts';
import type { HttpServer, McpServer } from './config.ts';
import { boundedFetch } from './fetch.ts';
import type { Sandbox } from './sandbox.ts';

export interface LinkPorts {
  /** As in `ChildPorts`. */
  folder: string;
  sandbox: Sandbox;
  /** How large a message of the server may be. */
  messageBytesMax: number;
  /** How long the server may take for the handshake. */
  connectMs: number;
  /** A server that does not answer a ping for this long is lost. */
  probeMs: number;
  /** How long a child may take to end when its input ends, and then again after SIGTERM. */
  graceMs: number;
  /** Called with each line that a child writes on its standard error. */
  onStderr(line: string): void;
}

/**
 * One connection to a server, from the first try to the end.
 *
 * Contract: nothing throws or rejects, apart from `ready`. A link that is over stays over. Every member may be used at
 * any time and any number of times.
 */
export interface Link {
  readonly client: Client;
  /** Resolves when the server has answered the handshake. */
  readonly ready: Promise<void>;
  /** Aborted when the connection is over, whichever side ended it; the reason is a text. */
  readonly over: AbortSignal;
  /** Asks the server whether it is still there; if not, the link is over. */
  probe(): void;
  end(reason: string): void;
  /** Ends it, and resolves when neither a session nor a child process is left. */
  close(): Promise<void>;
}

const FAREWELL_MS = 1_000;

/** Starts to connect to a server. */
export function openLink(server: McpServer, ports: LinkPorts): Link {
  const over = new AbortController();
  const end = (reason: string) => over.abort(reason);
  const client = new Client({ name: 'spillway', version: '1' }, { capabilities: {} });
  const probe = proberOf(client, over.signal, ports.probeMs, end);
  const { transport, leave } =
    server.kind === 'stdio'
      ? byChild(createChild(server, { ...ports, onEnd: end }))
      : bySession(server, ports.messageBytesMax, end, () => probe());
  const ready = client.connect(transport, { timeout: ports.connectMs });
  // A caller that does not await it sees the end through `over`.
  ready.catch(() => undefined);
  let leaving: Promise<void> | undefined;
  return {
    client,
    ready,
    over: over.signal,
    probe,
    end,
    close() {
      end('closed by us');
      leaving ??= leave();
      return leaving;
    },
  };
}

function byChild(transport: Transport) {
  return { transport, leave: () => transport.close() };
}

function bySession(
  { url, headers }: HttpServer,
  messageBytesMax: number,
  end: (reason: string) => void,
  probe: () => void,
) {
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { ...headers } },
    fetch: boundedFetch(messageBytesMax, () => end(tooLarge(messageBytesMax))),
  });
  transport.onclose = () => end('the connection was closed');
  // HTTP has no connection to lose, only requests and streams that fail: a ping shows whether it matters.
  transport.onerror = probe;
  const leave = async () => {
    const left = new AbortController();
    const farewell = transport.terminateSession().catch(() => undefined);
    void farewell.then(() => left.abort());
    await pause(FAREWELL_MS, left.signal);
    await transport.close().catch(() => undefined);
  };
  return { transport: transport as Transport, leave };
}

function proberOf(client: Client, over: AbortSignal, probeMs: number, end: (reason: string) => void): () => void {
  let probing = false;
  return () => {
    if (probing || over.aborted || client.getServerCapabilities() === undefined) return;
    probing = true;
    void isAlive(client, probeMs).then((alive) => {
      probing = false;
      if (!alive) end('it does not answer any more');
    });
  };
}

/** The code of a system error: of the error itself or of its cause. */
export function errorCode(error: unknown): string | undefined {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  if (typeof code === 'string') return code;
  return cause === undefined ? undefined : errorCode(cause);
}

/** A server that refuses a ping is alive, even if busy or in trouble; a proxy without its server is not. */
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
