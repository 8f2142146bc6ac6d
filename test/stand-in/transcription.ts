/**
 * A strict stand-in for an OpenAI-compatible endpoint that turns speech into text: it checks the key, the form, the model,
 * the file and its size, refuses in the API's own shape, and keeps every call.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { closeServer, header, listen, readBody, sendJson } from './loopback.ts';
import { News } from './news.ts';

const PATH = '/v1/audio/transcriptions';
const FILE_BYTES_MAX = 25 * 1024 * 1024;
const FIELDS = new Set(['file', 'model', 'response_format', 'language', 'prompt', 'temperature']);
const ENDINGS = /\.(?:flac|mp3|mp4|mpeg|mpga|m4a|ogg|wav|webm)$/;

/** What the stand-in does with a call instead of answering it. */
export type Mischief =
  | { do: 'answer'; status: number; body: string; headers?: Record<string, string> }
  /** Takes the call and is silent. */
  | { do: 'hang' }
  /** Cuts the connection in the middle of the answer. */
  | { do: 'cut' };

/** A call as it arrived. */
export interface TranscriptionCall {
  status: number;
  bytes: number;
  name: string;
  mediaType: string;
}

/** A running stand-in. */
export interface TranscriptionStandIn {
  /** The base URL, as `TRANSCRIPTION_BASE_URL` takes it. */
  readonly url: string;
  readonly key: string;
  readonly model: string;
  readonly calls: readonly TranscriptionCall[];
  /** What it hears from now on. */
  hear(text: string): void;
  /** Lets the next calls fail; a call that is malformed is refused all the same. */
  fail(mischief: Mischief, times?: number): void;
  heal(): void;
  /** Resolves once so many calls have arrived. */
  waitForCalls(count: number): Promise<void>;
  close(): Promise<void>;
}

class Refusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Starts a stand-in on loopback. */
export async function startTranscription(): Promise<TranscriptionStandIn> {
  const [key, model] = ['stand-in-key', 'stand-in-whisper'];
  const calls: TranscriptionCall[] = [];
  const news = new News();
  const planned: Mischief[] = [];
  let text = 'hello there';
  const server = createServer(async (request, response) => {
    const call = { status: 0, bytes: 0, name: '', mediaType: '' };
    calls.push(call);
    news.tell();
    try {
      Object.assign(call, await accepted(request, key, model));
      const mischief = planned.shift();
      call.status = mischief?.do === 'answer' ? mischief.status : 200;
      if (mischief) misbehave(response, mischief);
      else sendJson(response, 200, { text });
    } catch (error) {
      call.status = error instanceof Refusal ? error.status : 500;
      sendJson(response, call.status, { error: { message: String(error), type: 'invalid_request_error', code: null } });
    }
  });
  const url = `${await listen(server)}/v1`;
  return {
    url,
    key,
    model,
    calls,
    hear: (words) => {
      text = words;
    },
    fail: (mischief, times = 1) => planned.push(...Array.from({ length: times }, () => mischief)),
    heal: () => planned.splice(0),
    waitForCalls: async (count) => {
      await news.until(
        () => (calls.length >= count ? true : undefined),
        10_000,
        `${count} calls`,
        () => JSON.stringify(calls),
      );
    },
    close: () => closeServer(server),
  };
}

function misbehave(response: ServerResponse, mischief: Mischief): void {
  if (mischief.do === 'hang') return;
  if (mischief.do === 'cut') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1_000 });
    response.write('{"text": "half');
    response.socket?.end(() => response.destroy());
    return;
  }
  response.writeHead(mischief.status, mischief.headers);
  response.end(mischief.body);
}

async function accepted(
  request: IncomingMessage,
  key: string,
  model: string,
): Promise<Omit<TranscriptionCall, 'status'>> {
  const body = await readBody(request, FILE_BYTES_MAX + 64 * 1024);
  if (request.url !== PATH) throw new Refusal(404, `Invalid URL (${request.method} ${request.url})`);
  if (request.method !== 'POST') throw new Refusal(405, 'Only POST');
  if (header(request, 'authorization') !== `Bearer ${key}`) throw new Refusal(401, 'Incorrect API key provided');
  if (body === undefined) throw new Refusal(413, 'Maximum content size limit (26214400) exceeded');
  const form = await formOf(request, body);
  for (const name of form.keys()) if (!FIELDS.has(name)) throw new Refusal(400, `Unrecognized field ${name}`);
  if (form.getAll('model').join() !== model) throw new Refusal(404, 'The model does not exist');
  const [file, ...more] = form.getAll('file');
  if (!(file instanceof File) || more.length > 0) throw new Refusal(400, 'Expected one file');
  if (!ENDINGS.test(file.name)) throw new Refusal(400, `Unrecognized file format. Got ${file.name}`);
  if (file.size === 0) throw new Refusal(400, 'Audio file is too short');
  if (file.size > FILE_BYTES_MAX) throw new Refusal(413, 'Maximum content size limit (26214400) exceeded');
  return { bytes: file.size, name: file.name, mediaType: file.type };
}

/** Read by the parser of the platform, which takes no form that is not one. */
async function formOf(request: IncomingMessage, body: Buffer): Promise<FormData> {
  const type = header(request, 'content-type') ?? '';
  if (!type.startsWith('multipart/form-data')) throw new Refusal(415, 'Expected multipart/form-data');
  try {
    return await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData();
  } catch {
    throw new Refusal(400, 'Could not parse multipart form');
  }
}
