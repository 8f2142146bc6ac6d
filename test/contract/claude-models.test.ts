import { afterEach, expect, test } from '@jest/globals';
import { ClaudeLines, failure } from '../fixture/claude.ts';

const lines = new ClaudeLines();
afterEach(() => lines.closeAll());

test('models.retrieve accepts a prefixed name, slash included, and returns it as the id', async () => {
  const { claude, client } = await lines.start();
  for (const name of ['anthropic/claude-opus-5-5', 'us.anthropic.claude-opus-5-5-v1:0', 'claude-opus-5-5']) {
    expect(await client.models.retrieve(name)).toMatchObject({ id: name, max_input_tokens: 200_000, max_tokens: 8192 });
  }
  expect(claude.otherRequests[0]).toBe('GET /v1/models/anthropic%2Fclaude-opus-5-5 -> 200');
});

test('the models endpoint can return limits as null or without their keys', async () => {
  const [empty, absent] = [await lines.start({ limits: 'null' }), await lines.start({ limits: 'absent' })];
  const card = await empty.client.models.retrieve('claude-opus-5-5');
  expect([card.max_input_tokens, card.max_tokens]).toEqual([null, null]);
  const bare = await absent.client.models.retrieve('claude-opus-5-5');
  expect(Object.keys(bare)).not.toEqual(expect.arrayContaining(['max_input_tokens']));
  expect(Object.keys(bare)).not.toEqual(expect.arrayContaining(['max_tokens']));
});

test('the models endpoint answers with the status that is set: 404, 500, then 200', async () => {
  const { claude, client } = await lines.start({ modelsStatus: 404 });
  expect(await failure(client.models.retrieve('x'))).toMatchObject({ status: 404, type: 'not_found_error' });
  claude.modelsStatus = 500;
  expect(await failure(client.models.retrieve('x'))).toMatchObject({ status: 500, type: 'api_error' });
  claude.modelsStatus = 200;
  expect((await client.models.retrieve('x')).id).toBe('x');
});
