import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { namedTool } from '../../../../worker/model/claude/refusal.ts';
import providerErrors from '../../../corpus/provider-errors.json' with { type: 'json' };
import unseenErrors from '../../../corpus/unseen-errors.json' with { type: 'json' };
import { cpuMs, forAll } from '../../../fixture/texts.ts';

const NAMES = ['recall', 'files__read', 'files__read_file', 'web__search', 'list'];

/** The error as the SDK throws it. */
function thrown(message: string): Error {
  const error = { type: 'error', error: { type: 'invalid_request_error', message }, request_id: 'req_011' };
  return Object.assign(new Error(`400 ${JSON.stringify(error)}`), { status: 400, error });
}

test.each([
  ['tools.3.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12', 'web__search'],
  ["Invalid 'tools[2].function.description': string too long.", 'files__read_file'],
  ['Malformed input request: #/tools/1/input_schema: extraneous key [x] is not permitted', 'files__read'],
  ["Invalid schema for function 'web__search': '^(' is not a 'regex'", 'web__search'],
  ['The schema of `list` is not supported', 'list'],
  ['Tool files__read is not allowed here', 'files__read'],
])('finds the tool named by: %s', (message, name) => {
  expect(namedTool(thrown(message), NAMES)).toBe(name);
  expect(namedTool(message, NAMES)).toBe(name);
  expect(namedTool({ error: { error: { message } } }, NAMES)).toBe(name);
  expect(namedTool({ cause: new Error(message) }, NAMES)).toBe(name);
});

test.each([
  'messages.0.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_01.',
  'Malformed input request: #/messages/3/tools/1: no',
  'each tool_use must have a single result. Found multiple `tool_result` blocks with id: files__read',
  "tool_call_id 'recall' not found in previous assistant message",
  'tools.9.custom.name: there is no such place',
  "Invalid 'tools': array too long. Expected an array with maximum length 128.",
  'Neither `files__read` nor `web__search` is supported',
  'I cannot recall a list of that kind',
  'Please list what you recall; read https://example.org/tools/3 and https://example.org/files__read',
  'xtools.3 and my_tools[1] are something else',
  'files__read_file_2 and afiles__read and files__read-it are other tools',
  '',
])('finds no tool in: %s', (message) => {
  expect(namedTool(thrown(message), NAMES)).toBeUndefined();
  expect(namedTool(message, NAMES)).toBeUndefined();
});

test('ignores the keys of the error envelope, such as error, message and type', () => {
  expect(namedTool(thrown('Internal trouble.'), ['error', 'message', 'type', ''])).toBeUndefined();
});

test('of all errors in the corpus, namedTool finds a tool only in the three about tools', () => {
  const names = Array.from({ length: 10 }, (_, index) => `server__tool_${index}`);
  const naming = [...providerErrors, ...unseenErrors].filter(({ message }) => namedTool(message, names));
  expect(naming.map(({ message }) => message).toSorted()).toEqual([
    "Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024, but got a string with length 1811 instead.",
    'tools.0.description: String should have at most 1024 characters',
    "tools.3.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'",
  ]);
});

test('namedTool never throws, and returns only a given name', () => {
  const { proxy: hostile, revoke } = Proxy.revocable({}, {});
  revoke();
  const circular: Record<string, unknown> = {};
  circular.error = circular;
  for (const error of [hostile, circular, null, undefined, 7, () => 'x', Symbol('x'), { message: hostile }]) {
    expect(namedTool(error, NAMES)).toBeUndefined();
  }
  forAll([fc.anything({ withNullPrototype: true }), fc.array(fc.string())], (error, names) => {
    const name = namedTool(error, names);
    expect(name === undefined || names.includes(name)).toBe(true);
  });
});

test('namedTool reads five errors of 2 to 16 MB in under 2 seconds of CPU', () => {
  const names = Array.from({ length: 2_000 }, (_, index) => `${'a'.repeat(50)}${index}`);
  const beganMs = cpuMs();
  for (const unit of ['a', 'tools.', 'https://', '"a"', 'messages']) namedTool(unit.repeat(2_000_000), names);
  expect(cpuMs() - beganMs).toBeLessThan(2_000);
});
