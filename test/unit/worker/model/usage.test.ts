import { expect, test } from '@jest/globals';
import { readUsage, type StatedUsage, serverAttributes } from '../../../../worker/model/usage.ts';

const NOTHING = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0 };

const NO_COUNTERS = [1e300, Number.POSITIVE_INFINITY, 1e9, -4, '12', {}, [7], true, null];

test.each(NO_COUNTERS)('a counter of %j is none: it is not stated', (stated) => {
  const pass = { input_tokens: stated, output_tokens: stated, cache_read_input_tokens: stated };
  const all = {
    ...pass,
    cache_creation_input_tokens: stated,
    cache_creation: { ephemeral_1h_input_tokens: stated },
    output_tokens_details: { thinking_tokens: stated },
    server_tool_use: { web_search_requests: stated },
  };
  expect(readUsage(all as unknown as StatedUsage)).toEqual(NOTHING);
  expect(readUsage({ iterations: [pass] } as unknown as StatedUsage)).toEqual(NOTHING);
});

test('a part of a token is rounded, so that what is summed stays whole', () => {
  expect(readUsage({ input_tokens: 12.4, output_tokens: 7.6 })).toEqual({
    ...NOTHING,
    inputTokens: 12,
    outputTokens: 8,
  });
});

test.each([
  ['https://user:secret@[::1]/v1?key=secret', '::1', 443],
  ['http://models.example:8080/secret', 'models.example', 8080],
])('of the address %s a metric has the host and the port alone', (baseURL, host, port) => {
  expect(serverAttributes(baseURL)).toEqual({ 'server.address': host, 'server.port': port });
});
