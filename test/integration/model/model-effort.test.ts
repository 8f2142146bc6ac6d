import { afterEach, expect, test } from '@jest/globals';
import { createClaude } from '../../../worker/model/claude/adapter.ts';
import type { Effort, ModelRequest } from '../../../worker/model/port.ts';
import {
  type Script,
  type ScriptedEndpoint,
  sendAnswer,
  sendRefusal,
  startEndpoint,
} from '../../fixture/scripted-endpoint.ts';
import { type ClaudeStandIn, startClaude } from '../../stand-in/claude/server.ts';

let endpoint: ScriptedEndpoint | ClaudeStandIn | undefined;

afterEach(async () => {
  await endpoint?.close();
  endpoint = undefined;
});

const adapter = (baseURL: string) => createClaude({ apiKey: 'k', baseURL, idleMs: 5_000, reach: () => {} });

async function connect(script: Script) {
  const scripted = await startEndpoint(script);
  endpoint = scripted;
  const model = adapter(scripted.url);
  return {
    bodies: scripted.bodies,
    ask: (effort?: Effort, name?: string) => model.send(request(effort, name), new AbortController().signal),
  };
}

function request(effort?: Effort, model = 'claude-opus-5-5'): ModelRequest {
  const messages: ModelRequest['messages'] = [{ role: 'user', content: 'Hello' }];
  return { model, maxTokens: 100, system: 'Be kind.', messages, caches: true, ...(effort && { effort }) };
}

test('sends output_config only for a stated effort, and a strict server accepts it', async () => {
  const claude = await startClaude();
  endpoint = claude;
  const model = adapter(claude.url);
  expect(await model.send(request('low'), new AbortController().signal)).toMatchObject({ ok: true });
  await model.send({ ...request('max'), caches: false }, new AbortController().signal);
  await model.send(request(), new AbortController().signal);
  expect(claude.calls.map(({ body }) => body.output_config)).toEqual([{ effort: 'low' }, { effort: 'max' }, undefined]);
  expect(claude.calls.map(({ body }) => 'output_config' in body)).toEqual([true, true, false]);
  expect(claude.violations()).toEqual([]);
});

test.each([
  'output_config: Extra inputs are not permitted',
  'This model does not support the effort parameter.',
  'Malformed input request: #: extraneous key [output_config] is not permitted, please reformat your input and try again.',
])(
  'after "%s" the call is repeated without effort, and after two of them later calls of that model omit it',
  async (message) => {
    const { ask, bodies } = await connect((response, body) => {
      if (body.output_config) sendRefusal(response, 400, 'invalid_request_error', message);
      else sendAnswer(response);
    });
    for (let n = 0; n < 3; n++) expect(await ask('high')).toMatchObject({ ok: true });
    expect(bodies.map((body) => 'output_config' in body)).toEqual([true, false, true, false, false]);
    expect(await ask('high', 'another-model')).toMatchObject({ ok: true });
    expect(bodies.slice(5).map((body) => 'output_config' in body)).toEqual([true, false]);
  },
);

test('a call refused without effort, too, fails, and the next call sends the effort again', async () => {
  const { ask, bodies } = await connect((response) =>
    sendRefusal(response, 400, 'invalid_request_error', 'messages.0: your effort is in vain'),
  );
  expect(await ask('high')).toMatchObject({ ok: false, failure: { status: 400 } });
  expect(await ask('high')).toMatchObject({ ok: false, failure: { status: 400 } });
  expect(bodies.map((body) => 'output_config' in body)).toEqual([true, false, true, false]);
});

test('a call refused in other words, or without an effort, is not repeated', async () => {
  const { ask, bodies } = await connect((response, _body, index) =>
    sendRefusal(response, 400, 'invalid_request_error', index === 0 ? 'prompt is too long' : 'output_config: no'),
  );
  expect(await ask('high')).toMatchObject({ ok: false });
  expect(await ask()).toMatchObject({ ok: false });
  expect(bodies).toHaveLength(2);
});
