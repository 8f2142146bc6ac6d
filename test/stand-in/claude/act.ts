/** Carries a reaction out on the wire. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendJson } from '../loopback.ts';
import type { StandInModel } from './model.ts';
import type { AnswerReaction, ClaudeCall, Pinging, Reaction } from './reaction.ts';
import { ReplyStream } from './reply.ts';
import { overflowViolation } from './rules.ts';
import type { Refusal } from './violation.ts';

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

/** Answers with the API's error envelope. The edge refuses what is too large, and knows nothing of request ids. */
export function sendError(
  response: ServerResponse,
  requestId: string,
  { status, type, message }: Refusal,
  headers: Record<string, string> = {},
): void {
  const body = { type: 'error', error: { type, message } };
  if (status === 413) sendJson(response, status, body, headers);
  else sendJson(response, status, { ...body, request_id: requestId }, { 'request-id': requestId, ...headers });
}

/** Carries out one reaction. Resolves when nothing is left to do; a client that went away is no error. */
export async function act(reaction: Reaction, stage: Stage): Promise<void> {
  const { call, response, model } = stage;
  call.reaction = reaction.do;
  switch (reaction.do) {
    case 'hang':
      return;
    case 'answer':
      return answer(reaction, stage);
    case 'error':
      return refuse(stage, 'error', reaction, reaction.headers);
    case 'overflow': {
      const limit = reaction.limitTokens ?? model.windowTokens;
      const observed = reaction.observedTokens ?? Math.max(call.inputTokens, Math.ceil(limit * 1.07));
      return refuse(stage, 'overflow', overflowViolation(observed, limit));
    }
    case 'raw':
      call.status = reaction.status;
      response.writeHead(reaction.status, reaction.headers);
      response.end(reaction.body);
      return;
    default:
      return fragment(reaction, stage);
  }
}

export function refuse({ call, response }: Stage, reaction: string, error: Refusal, headers = {}): void {
  call.reaction = reaction;
  call.status = error.status;
  sendError(response, call.requestId, error, headers);
}

function open({ call, response, pace, gone }: Stage, everyMs = pace.deltaDelayMs ?? 0): ReplyStream {
  call.status = 200;
  const stream = new ReplyStream(response, everyMs, gone);
  stream.open({ 'request-id': call.requestId });
  return stream;
}

async function answer(reaction: AnswerReaction, stage: Stage): Promise<void> {
  const { call, response, model, pace, gone } = stage;
  const { after, afterMs = 0, everyMs, headers = {}, pondering = pace.pondering } = reaction;
  if (after !== undefined && !gone.aborted) await Promise.race([after, once(gone, 'abort')]);
  if (afterMs > 0) await sleep(afterMs, undefined, { signal: gone }).catch(() => {});
  if (gone.aborted) return;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  const stream = open(stage, everyMs);
  if (pace.prefill !== undefined) await stream.pings(pace.prefill);
  if (gone.aborted) return;
  const written = model.answer(reaction, call);
  call.usage = written.usage;
  stream.start(written);
  await stream.blocks(written.content, 'closed', pondering);
  stream.finish(written);
}

async function fragment(
  reaction: Extract<Reaction, { do: 'silent' | 'truncate' | 'cut' | 'errorEvent' }>,
  stage: Stage,
): Promise<void> {
  const { call, response, model } = stage;
  const { text = '' } = reaction;
  const stream = open(stage, 'everyMs' in reaction ? reaction.everyMs : undefined);
  const written = model.fragment({ ...reaction, text }, call);
  stream.start(written);
  if (text !== '' || reaction.do !== 'errorEvent') await stream.blocks(written.content, 'open');
  if (reaction.do === 'silent' && reaction.pingEveryMs !== undefined)
    await stream.pings({ forMs: Number.POSITIVE_INFINITY, everyMs: reaction.pingEveryMs });
  if (reaction.do === 'errorEvent') {
    const { type, message } = reaction;
    stream.event('error', { error: { type, message }, request_id: call.requestId });
  }
  if (reaction.do === 'truncate' || reaction.do === 'errorEvent') response.end();
  if (reaction.do === 'cut') {
    call.endedAt = Date.now();
    response.destroy();
  }
}
