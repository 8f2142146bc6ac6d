import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { FetchLike, Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { pause } from '../../../shared/base/lifecycle.ts';
import type { HttpServer } from './config.ts';
import { type Guard, guarded, tooLarge } from './guard.ts';

const FAREWELL_MS = 1_000;
/** Opening a stream takes the event loop about a millisecond, as long as reading this many small messages. */
const MESSAGES_PER_STREAM = 20;

/** A session with a server over HTTP, and the way to leave it. `probe` is called when a request or a stream fails. */
export function createSession(
  { url, headers }: HttpServer,
  guard: Guard,
  end: (reason: string) => void,
  probe: () => void,
): { transport: Transport; leave(): Promise<void> } {
  const session = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { ...headers } },
    fetch: boundedFetch(guard),
  });
  const transport = guarded(session as Transport, guard);
  transport.onclose = () => end('the connection was closed');
  // A failed request or stream does not prove that the server is gone: a ping finds out.
  transport.onerror = probe;
  const leave = async () => {
    const left = new AbortController();
    const farewell = session.terminateSession().catch(() => undefined);
    void farewell.then(() => left.abort());
    await pause(FAREWELL_MS, left.signal);
    await session.close().catch(() => undefined);
  };
  return { transport, leave };
}

const JSON_INTERNAL_ERROR = -32_603;

/**
 * A `fetch` for an untrusted server. The SDK's transport reads messages of any size; this `fetch` stops at a message longer
 * than the guard's bound. The bytes of a stream count against the guard unless they may be the answer to our request.
 *
 * Contract: an answer that is too large ends only its own request, with an error text, and a stream that answers no
 * request ends the connection. No more than one message is held at a time. After a breach nothing more is read.
 */
function boundedFetch(guard: Guard): FetchLike {
  const bytesMax = guard.bounds.messageBytesMax;
  return async (url, init) => {
    // The server decides how often the SDK opens the stream again, down to without any pause.
    if (init?.method === 'GET') guard.count(MESSAGES_PER_STREAM);
    const response = await fetch(url, init);
    if (response.body === null) return response;
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    const asked = typeof init?.body === 'string' ? (JSON.parse(init.body) as Asked) : {};
    let [bytes, bytesInAll] = [0, 0];
    const bounded = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        if (!isStream && bytesInAll === 0 && isBatch(chunk)) return controller.error(new Error(BATCH));
        bytesInAll += chunk.length;
        if (isStream && (asked.id === undefined || bytesInAll > bytesMax)) guard.count(0, chunk.length);
        const bound = guard.broken();
        if (bound !== undefined) return controller.error(new Error(bound));
        const end = isStream ? endOfLastEvent(chunk) : 0;
        bytes = chunk.length - end + (end === 0 ? bytes : 0);
        if (bytes <= bytesMax) return controller.enqueue(chunk);
        if (!isStream) return controller.error(new Error(unread(bytesMax)));
        if (asked.id === undefined) guard.breach(tooLarge(bytesMax));
        else controller.enqueue(Buffer.from(`\n\nevent: message\ndata: ${refusalOf(asked, bytesMax)}\n\n`));
        controller.terminate();
      },
    });
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(bounded), { status, statusText, headers });
  };
}

const BATCH = 'The answer was left unread: it was a list of messages, and one request has one answer.';

/** Whether JSON is a list. The SDK would check all of its entries in one go, which may be a million. */
function isBatch(start: Uint8Array): boolean {
  return Buffer.from(start.buffer, start.byteOffset, start.byteLength).toString('latin1').trimStart().startsWith('[');
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
