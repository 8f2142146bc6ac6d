import { readAtMost } from '../../../shared/base/bounded-read.ts';
import type { Payer } from '../../../shared/state/spending/limit.ts';
import { obeyedWait } from '../../model/errors/classify.ts';
import { retryAfterHeader } from '../../model/errors/evidence.ts';
import type { Failure } from '../../model/errors/failure.ts';

/** A recording for the transcription endpoint. */
export interface Recording {
  bytes: Buffer;
  /** The length, if the sender states it. */
  seconds?: number;
  payer: Payer;
  /** A file name with an extension, from which endpoints learn the format of the recording. */
  name: string;
  mediaType: string;
}

/**
 * The words of a recording, or the reason why there are none. `trouble` may pass by itself; `refused` will not. `detail` is for
 * the operator, and quotes nothing from the endpoint.
 */
export type Transcription =
  /** `seconds`: the length of the recording, if the endpoint states it. */
  | { kind: 'heard'; text: string; seconds?: number }
  | { kind: 'trouble'; detail: string; retryAfterMs?: number }
  | { kind: 'refused'; detail: string }
  /** No call was made: a budget is used up. */
  | { kind: 'over budget'; failure: Failure }
  | { kind: 'aborted' };

/**
 * Turns speech into text.
 *
 * Contract: never rejects. The endpoint may bill each call, even one that was aborted or whose answer was lost.
 */
export interface Transcriber {
  transcribe(recording: Recording, signal: AbortSignal): Promise<Transcription>;
}

/** An OpenAI-compatible endpoint. */
interface TranscriptionEndpoint {
  /** The URL to which the transcriber appends `/audio/transcriptions`. */
  baseUrl: string;
  apiKey: string | undefined;
  model: string;
  /** A call that takes longer than this ends as `trouble`. */
  timeoutMs: number;
}

/** Longer than any transcript. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
/** A stated length above a day is an error of the endpoint, and is ignored. */
const SECONDS_MAX = 24 * 3_600;
/** HTTP statuses below 500 that may be temporary. */
const PASSING = new Set([408, 409, 425, 429]);

/** A transcriber that calls an endpoint. Opens no connection before the first call. */
export function createTranscriber({ baseUrl, apiKey, model, timeoutMs }: TranscriptionEndpoint): Transcriber {
  const url = `${baseUrl.replace(/\/+$/, '')}/audio/transcriptions`;
  return {
    async transcribe(recording, signal) {
      const timeout = AbortSignal.timeout(timeoutMs);
      try {
        const response = await fetch(url, {
          method: 'POST',
          body: formOf(recording, model),
          headers: { accept: 'application/json', ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }) },
          // A redirect could lose the body, or send the key to another server.
          redirect: 'error',
          signal: AbortSignal.any([signal, timeout]),
        });
        if (!response.ok) return await refusalOf(response);
        return transcriptionOf(await readAtMost(response.body, ANSWER_BYTES_MAX));
      } catch {
        if (signal.aborted) return { kind: 'aborted' };
        return trouble(timeout.aborted ? `no answer in ${timeoutMs} ms` : 'no connection');
      }
    },
  };
}

function formOf({ bytes, name, mediaType }: Recording, model: string): FormData {
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(bytes)], { type: mediaType }), name);
  form.append('model', model);
  form.append('response_format', 'json');
  return form;
}

async function refusalOf(response: Response): Promise<Transcription> {
  await response.body?.cancel();
  const detail = `status ${response.status}`;
  if (response.status < 500 && !PASSING.has(response.status)) return { kind: 'refused', detail };
  const { retryAfterMs } = obeyedWait(retryAfterHeader(response) ?? 0);
  return { kind: 'trouble', detail, ...(retryAfterMs && { retryAfterMs }) };
}

/** Reads an answer. An answer without a transcript, such as a proxy's page or truncated JSON, is `trouble`. */
function transcriptionOf(body: Buffer | undefined): Transcription {
  try {
    const { text, usage } = JSON.parse(body?.toString() ?? '') as {
      text?: unknown;
      usage?: { seconds?: unknown } | null;
    };
    const seconds = usage?.seconds;
    const length = typeof seconds === 'number' && seconds > 0 && seconds <= SECONDS_MAX ? { seconds } : {};
    if (typeof text === 'string')
      return { kind: 'heard', text: text.toWellFormed().replaceAll('\0', '').trim(), ...length };
  } catch {
    // Invalid JSON is trouble, as below.
  }
  return trouble('status 200 without a transcript');
}

function trouble(detail: string): Transcription {
  return { kind: 'trouble', detail };
}
