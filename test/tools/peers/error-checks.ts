import assert from 'node:assert/strict';
import { createClaude } from '../../../worker/model/claude/adapter.ts';
import type { Failure } from '../../../worker/model/errors/failure.ts';
import type { Reaction } from '../../stand-in/claude/reaction.ts';
import { brief } from '../live/line.ts';
import type { Check } from './check.ts';
import { type Ground, IDLE_MS } from './ground.ts';
import { BANNED_WORD, PROBES } from './litellm.ts';

const error = (status: number, type: string, message: string): Reaction => ({ do: 'error', status, type, message });

/** What the provider says, and what we must make of it behind the proxy. */
const PASSED_ON: readonly { said: Reaction; expected: Partial<Failure> }[] = [
  {
    said: error(429, 'rate_limit_error', 'Number of requests has exceeded your per-minute rate limit'),
    expected: { kind: 'transient', reason: 'rate_limited' },
  },
  { said: error(529, 'overloaded_error', 'Overloaded'), expected: { kind: 'transient', reason: 'overloaded' } },
  { said: error(500, 'api_error', 'Internal server error'), expected: { kind: 'transient', reason: 'server_error' } },
  {
    said: error(401, 'authentication_error', 'invalid x-api-key'),
    expected: { kind: 'terminal', reason: 'authentication' },
  },
  {
    said: { do: 'overflow', observedTokens: 350_000, limitTokens: 180_000 },
    expected: { kind: 'token', observedTokens: 350_000, limitTokens: 180_000 },
  },
  {
    said: error(
      400,
      'invalid_request_error',
      'messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1',
    ),
    expected: { kind: 'poison', reason: 'structure' },
  },
  {
    said: { do: 'errorEvent', type: 'overloaded_error', message: 'Overloaded' },
    expected: { kind: 'transient', reason: 'overloaded' },
  },
  { said: { do: 'cut', text: 'Some words' }, expected: { kind: 'transient' } },
];

/** A call of one message, past the gateway's recovery. */
async function failureOf(
  ground: Ground,
  model: string,
  content: string,
  apiKey = ground.proxy?.key ?? '',
): Promise<Failure> {
  const adapter = createClaude({ apiKey, baseURL: ground.proxy?.url ?? '', idleMs: IDLE_MS, reach: () => {} });
  const request = { model, maxTokens: 100, system: '', messages: [{ role: 'user' as const, content }], caches: false };
  const sent = await adapter.send(request, AbortSignal.timeout(60_000));
  assert.ok(!sent.ok, 'it was answered');
  return sent.failure;
}

/** How errors look behind the proxy, and what the gateway takes them for. */
export const ERROR_CHECKS: readonly Check[] = [
  ...PASSED_ON.map(
    ({ said, expected }, index): Check => ({
      name: `what the provider says is understood: ${nameOf(said)}`,
      async run(ground) {
        ground.play(() => said);
        const failure = await failureOf(ground, PROBES[index] ?? '', 'Hello');
        assert.deepEqual({ ...failure, ...expected }, failure);
        return brief(failure);
      },
    }),
  ),
  {
    name: "the guardrail's refusal is nobody's known fault",
    async run(ground) {
      const failure = await failureOf(ground, PROBES[0] ?? '', `A pot of ${BANNED_WORD}.`);
      assert.equal(failure.kind, 'unknown');
      return brief(failure);
    },
  },
  {
    name: 'a model that the proxy does not have is a failure of the model',
    async run(ground) {
      const failure = await failureOf(ground, 'claude-nowhere', 'Hello');
      assert.deepEqual([failure.kind, failure.reason], ['model', 'not_found']);
      return brief(failure);
    },
  },
];

function nameOf(said: Reaction): string {
  if (said.do === 'error') return `${said.status} ${said.type}`;
  return { overflow: 'an overflow', errorEvent: 'an error inside the stream', cut: 'a cut stream' }[said.do as 'cut'];
}
