/** Carries a reaction out on the wire. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendJson } from '../loopback.ts';
import type { StandInModel } from './model.ts';
import type { ClaudeCall, Pinging, Reaction } from './reaction.ts';
import { type Answer, messageBody, ReplyStream } from './reply.ts';
import { overflowViolation } from './rules.ts';

/** How long things take where a reaction does not say it. */
export interface Pace {
  /** How long each piece of a stream takes. Default 0. */
  deltaDelayMs?: number;
  /** Pings after the headers and before the message. Default: none. */
  prefill?: Pinging;
  /** Pings inside each thinking block. Default: none. */
  pondering?: Pinging;
}

/** What a reaction is carried out with. `gone` aborts when the connection ends, from either side. */
export interface Stage {
  readonly call: ClaudeCall;
  readonly response: ServerResponse;
  readonly model: StandInModel;
  readonly pace: Pace;
  readonly gone: AbortSignal;
}

/** The headers that every answer of the API itself carries. */
const headersOf = (call: ClaudeCall): Record<string, string> => ({ 'request-id': call.requestId });

/** Answers with the API's error envelope. */
export function sendError(
  response: ServerResponse,
  requestId: string,
  error: { status: number; type: string; message: string },
  headers: Record<string, string> = {},
): void {
  const { status, type, message } = error;
  const body = { type: 'error', error: { type, message }, request_id: requestId };
  sendJson(response, status, body, { 'request-id': requestId, ...headers });
}

/** A body that is too large is refused at the edge, which knows nothing of request ids. */
export function sendTooLarge(response: ServerResponse, message: string): void {
  sendJson(response, 413, { type: 'error', error: { type: 'request_too_large', message } });
}

/** Carries out one reaction. Resolves when nothing is left to do; a client that went away is no error. */
export async function act(reaction: Reaction, stage: Stage): Promise<void> {
  const { call, response } = stage;
  call.reaction = reaction.do;
  switch (reaction.do) {
    case 'answer':
      return answer(reaction, stage);
    case 'error':
      return refuse(stage, reaction, reaction.headers);
    case 'overflow':
      return refuse(stage, overflowOf(reaction, stage));
    case 'raw':
      call.status = reaction.status;
      response.writeHead(reaction.status, reaction.headers);
      response.end(reaction.body);
      return;
    case 'hang':
      return;
    case 'errorEvent':
      return errorEvent(reaction, stage);
    case 'silent':
    case 'truncate':
    case 'cut':
      return fragment(reaction, stage);
  }
}

function overflowOf(reaction: Extract<Reaction, { do: 'overflow' }>, { call, model }: Stage) {
  const limit = reaction.limitTokens ?? model.windowTokens;
  return overflowViolation(reaction.observedTokens ?? Math.max(call.inputTokens, Math.ceil(limit * 1.07)), limit);
}

function refuse(
  { call, response }: Stage,
  error: { status: number; type: string; message: string },
  headers?: Record<string, string>,
): void {
  call.status = error.status;
  sendError(response, call.requestId, error, headers);
}

async function answer(reaction: Extract<Reaction, { do: 'answer' }>, stage: Stage): Promise<void> {
  const { call, model, pace, gone } = stage;
  const { after, prefill = pace.prefill, pondering = pace.pondering } = reaction;
  if (after !== undefined && !gone.aborted) await Promise.race([after, once(gone, 'abort')]);
  await passes(reaction.afterMs ?? 0, gone);
  if (gone.aborted) return;
  if (call.body.stream !== true) return answerWhole(reaction, stage, (prefill?.forMs ?? 0) + (pondering?.forMs ?? 0));
  for (const [name, value] of Object.entries(reaction.headers ?? {})) stage.response.setHeader(name, value);
  const stream = open(stage, reaction.everyMs);
  if (prefill !== undefined) await stream.pings(prefill);
  if (gone.aborted) return;
  const written = model.answer(reaction, call);
  call.usage = written.usage;
  stream.start(written);
  await stream.blocks(written.content, { pondering });
  stream.finish(written);
}

/** Without a stream there are no pings: whatever takes time is silence before the headers. */
async function answerWhole(reaction: Extract<Reaction, { do: 'answer' }>, stage: Stage, ms: number): Promise<void> {
  const { call, response, model, gone } = stage;
  await passes(ms, gone);
  if (gone.aborted) return;
  const written = model.answer(reaction, call);
  call.usage = written.usage;
  call.status = 200;
  sendJson(response, 200, messageBody(written), headersOf(call));
}

/** Waits, or stops waiting once the client is gone. */
async function passes(ms: number, gone: AbortSignal): Promise<void> {
  if (ms > 0) await sleep(ms, undefined, { signal: gone }).catch(() => {});
}

function open({ call, response, pace, gone }: Stage, everyMs = pace.deltaDelayMs ?? 0): ReplyStream {
  const stream = new ReplyStream(response, everyMs, gone);
  call.status = 200;
  stream.open(headersOf(call));
  return stream;
}

function begin(written: Answer, stage: Stage, everyMs?: number): ReplyStream {
  const stream = open(stage, everyMs);
  stream.start(written);
  return stream;
}

async function fragment(
  reaction: Extract<Reaction, { do: 'silent' | 'truncate' | 'cut' }>,
  stage: Stage,
): Promise<void> {
  const { call, response, model } = stage;
  const written = model.fragment(reaction, call);
  call.status = 200;
  if (call.body.stream === true) {
    const stream = begin(written, stage, reaction.everyMs);
    await stream.blocks(written.content, { last: 'open' });
    if (reaction.do === 'silent' && reaction.pingEveryMs !== undefined)
      await stream.pings({ forMs: Number.POSITIVE_INFINITY, everyMs: reaction.pingEveryMs });
  } else await halfBody(written, stage);
  if (reaction.do === 'truncate') response.end();
  if (reaction.do === 'cut') {
    call.endedAt = Date.now();
    response.destroy();
  }
}

/** Without a stream, a broken answer is the first half of the body. */
function halfBody(written: Answer, { call, response }: Stage): Promise<void> {
  const body = JSON.stringify(messageBody(written));
  response.writeHead(200, { 'content-type': 'application/json', ...headersOf(call) });
  return new Promise((resolve) => {
    response.write(body.slice(0, body.length / 2), () => resolve());
  });
}

/** The status of an error that no stream has hidden behind a 200. */
const STATUS_OF: Readonly<Record<string, number>> = { overloaded_error: 529, invalid_request_error: 400 };

async function errorEvent(reaction: Extract<Reaction, { do: 'errorEvent' }>, stage: Stage): Promise<void> {
  const { call, model } = stage;
  const { type, message, text = '' } = reaction;
  // Only a stream can fail after its 200: without one the same trouble is a plain error.
  if (call.body.stream !== true) {
    refuse(stage, { status: STATUS_OF[type] ?? 500, type, message });
    return;
  }
  call.status = 200;
  const written = model.fragment({ text }, call);
  const stream = begin(written, stage);
  if (text !== '') await stream.blocks(written.content, { last: 'open' });
  stream.event('error', { error: { type, message }, request_id: call.requestId });
  stream.end();
}
