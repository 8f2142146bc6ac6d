import { afterEach, expect, test } from '@jest/globals';
import { createClaude } from '../../worker/model/claude/adapter.ts';
import type { Effort, ModelRequest } from '../../worker/model/port.ts';
import {
  type Script,
  type ScriptedEndpoint,
  sendAnswer,
  sendRefusal,
  startEndpoint,
} from '../fixture/scripted-endpoint.ts';
import { type ClaudeStandIn, startClaude } from '../stand-in/claude/server.ts';

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

test('an effort goes over the wire as the API has it, and a strict server takes it', async () => {
  const claude = await startClaude();
  endpoint = claude;
  const model = adapter(claude.url);
  expect(await model.send(request('low'), new AbortController().signal)).toMatchObject({ ok: true, repairs: [] });
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
])('an endpoint that says "%s" is asked without it, once, and from then on', async (message) => {
  const { ask, bodies } = await connect((response, body) => {
    if (body.output_config) sendRefusal(response, 400, 'invalid_request_error', message);
    else sendAnswer(response);
  });
  for (let n = 0; n < 3; n++) expect(await ask('high')).toMatchObject({ ok: true });
  expect(bodies.map((body) => 'output_config' in body)).toEqual([true, false, false, false]);
  expect(await ask('high', 'another-model')).toMatchObject({ ok: true });
  expect(bodies.slice(4).map((body) => 'output_config' in body)).toEqual([true, false]);
});

test('what is refused without it as well is that failure, and the next call asks for it again', async () => {
  const { ask, bodies } = await connect((response) =>
    sendRefusal(response, 400, 'invalid_request_error', 'messages.0: your effort is in vain'),
  );
  expect(await ask('high')).toMatchObject({ ok: false, failure: { status: 400 } });
  expect(await ask('high')).toMatchObject({ ok: false, failure: { status: 400 } });
  expect(bodies.map((body) => 'output_config' in body)).toEqual([true, false, true, false]);
});

test('a refusal in other words, or of a call that asked for none, is not sent again', async () => {
  const { ask, bodies } = await connect((response, _body, index) =>
    sendRefusal(response, 400, 'invalid_request_error', index === 0 ? 'prompt is too long' : 'output_config: no'),
  );
  expect(await ask('high')).toMatchObject({ ok: false });
  expect(await ask()).toMatchObject({ ok: false });
  expect(bodies).toHaveLength(2);
});
