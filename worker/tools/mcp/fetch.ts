import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';

/** What a JSON-RPC message holds about itself, when it is a request. */
interface Asked {
  id: unknown;
  method: unknown;
}

const NEWLINE = 10;
const RETURN = 13;

/**
 * A `fetch` for a server that may answer with anything: reading stops at a message of more than `bytesMax` bytes.
 *
 * Contract: an answer that is too large ends only its own request, with an error text, and a stream that answers no
 * request ends with `onTooLarge`. No more than one message is held at a time.
 */
export function boundedFetch(bytesMax: number, onTooLarge: () => void): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    const { body } = response;
    if (body === null) return response;
    const asked = askedIn(init?.body);
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    if (isStream) return withBody(response, body.pipeThrough(boundedEvents(bytesMax, asked, onTooLarge)));
    const whole = await readWhole(body, bytesMax);
    return withBody(response, whole ?? (response.ok ? refusalOf(asked, bytesMax) : ''));
  };
}

function withBody(
  { status, statusText, headers }: Response,
  body: ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer> | string,
): Response {
  return new Response(body, { status, statusText, headers });
}

/** The whole body, or nothing when it is too large. */
async function readWhole(body: ReadableStream<Uint8Array>, bytesMax: number) {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    // Leaving the loop cancels the rest.
    if (bytes > bytesMax) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * Passes events on as long as none is too large. A too large one ends the stream, and the request is answered from
 * here.
 */
function boundedEvents(bytesMax: number, asked: Asked | undefined, onTooLarge: () => void) {
  let bytes = 0;
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const end = endOfLastEvent(chunk);
      bytes = end === undefined ? bytes + chunk.length : chunk.length - end;
      if (bytes <= bytesMax) return controller.enqueue(chunk);
      if (asked === undefined) onTooLarge();
      else controller.enqueue(Buffer.from(`\n\nevent: message\ndata: ${refusalOf(asked, bytesMax)}\n\n`));
      controller.terminate();
    },
  });
}

/** Where the last event in a chunk ends: after an empty line. */
function endOfLastEvent(chunk: Uint8Array): number | undefined {
  for (let at = chunk.lastIndexOf(NEWLINE); at > 0; at = chunk.lastIndexOf(NEWLINE, at - 1)) {
    const before = chunk[at - 1] === RETURN ? at - 2 : at - 1;
    if (chunk[before] === NEWLINE) return at + 1;
  }
  return undefined;
}

function refusalOf(asked: Asked | undefined, bytesMax: number): string {
  const text = `The answer was left unread: it had more than ${bytesMax} bytes. The call may have taken effect. Ask for less at a time.`;
  const { id = null, method } = asked ?? {};
  // A result and not an error: after an error the SDK would request the rest of the stream again.
  const refusal =
    method === 'tools/call'
      ? { result: { content: [{ type: 'text', text }], isError: true } }
      : { error: { code: -32_603, message: text } };
  return JSON.stringify({ jsonrpc: '2.0', id, ...refusal });
}

function askedIn(body: unknown): Asked | undefined {
  if (typeof body !== 'string') return undefined;
  const { id, method } = JSON.parse(body) as Partial<Asked>;
  return id === undefined ? undefined : { id, method };
}
