import { afterEach, expect, test } from '@jest/globals';
import { createClaude } from '../../../worker/model/claude/adapter.ts';
import type { Effort } from '../../../worker/model/port.ts';
import {
  type Script,
  type ScriptedEndpoint,
  sendAnswer,
  sendRefusal,
  startEndpoint,
} from '../../fixture/scripted-endpoint.ts';

let endpoint: ScriptedEndpoint | undefined;
afterEach(() => endpoint?.close());

async function connect(script: Script) {
  endpoint = await startEndpoint(script);
  const model = createClaude({ apiKey: 'k', baseURL: endpoint.url, idleMs: 5_000, reach: () => {} });
  const ask = (effort?: Effort, name = 'claude-opus-5-5') => {
    const messages = [{ role: 'user' as const, content: 'Hello' }];
    const asked = { model: name, maxTokens: 100, system: 'Be kind.', messages, caches: true };
    return model.send({ ...asked, ...(effort && { effort }) }, new AbortController().signal);
  };
  return { bodies: endpoint.bodies, ask };
}

test('sends output_config only for a stated effort', async () => {
  const { ask, bodies } = await connect((response) => sendAnswer(response));
  for (const effort of ['low', 'max', undefined] as const) expect(await ask(effort)).toMatchObject({ ok: true });
  expect(bodies.map(({ output_config }) => output_config)).toEqual([{ effort: 'low' }, { effort: 'max' }, undefined]);
  expect(bodies.map((body) => 'output_config' in body)).toEqual([true, true, false]);
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
