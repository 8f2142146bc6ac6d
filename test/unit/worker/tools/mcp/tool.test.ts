import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type McpTool, readTool } from '../../../../../worker/features/mcp/tool.ts';
import { toolName } from '../../../../../worker/features/mcp/tool-name.ts';
import { cpuMs, rawTexts, SEEDED } from '../../../../fixture/texts.ts';

const LEGAL = /^[A-Za-z0-9_-]{1,64}$/;

function tool(listed: Record<string, unknown>): McpTool {
  const read = readTool({ name: 'x', inputSchema: { type: 'object' }, ...listed });
  if (read === undefined || 'why' in read) throw new Error(read?.why ?? 'not read');
  return read;
}

function whyNot(inputSchema: unknown): string {
  const read = readTool({ name: 'x', inputSchema });
  return read !== undefined && 'why' in read ? read.why : 'taken';
}

test('toolName joins server and tool with __ if the result is legal and unambiguous', () => {
  expect(toolName('files', 'read_file')).toBe('files__read_file');
  expect(toolName('my-server', 'a__b')).toBe('my-server__a__b');
  expect(toolName('a', 'b'.repeat(61))).toBe(`a__${'b'.repeat(61)}`);
});

test('toolName gives different names to pairs that would otherwise collide', () => {
  const pairs = [
    ['a', 'b__c'],
    ['a__b', 'c'],
    ['a', '_b'],
    ['a_', 'b'],
    ['a', 'get.it'],
    ['a', 'get_it'],
    ['a', 'get/it'],
    ['a', 'погода'],
    ['a', 'погоды'],
    ['a', '\ud800'],
    ['a', '\ud801'],
    ['a', 'b'.repeat(100)],
    ['a', 'b'.repeat(101)],
    ['a'.repeat(100), 'b'],
    ['a'.repeat(100), 'c'],
    ['', 'b'],
    ['b', ''],
  ] as const;
  const names = pairs.map(([server, name]) => toolName(server, name));
  expect(new Set(names).size).toBe(pairs.length);
  for (const name of names) expect(name).toMatch(LEGAL);
  // A server may call its tool by the name that another one was given.
  const given = toolName('a', 'get.it');
  expect(toolName('a', given.slice('a__'.length))).not.toBe(given);
});

test('toolName cuts a long server name to 24 characters and keeps the name of the tool', () => {
  expect(toolName('s'.repeat(200), 'read_file')).toMatch(/^s{24}__read_file_[0-9a-f]{8}$/);
});

test('toolName is legal, deterministic and unique for any pairs', () => {
  const part = fc.oneof(rawTexts(80), fc.stringMatching(/^[a-b_.]{0,4}$/), fc.stringMatching(/^[A-Za-z0-9_-]{1,70}$/));
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.tuple(part, part), { maxLength: 40, selector: (pair) => JSON.stringify(pair) }),
      (pairs) => {
        const names = pairs.map(([server, name]) => toolName(server, name));
        for (const name of names) expect(name).toMatch(LEGAL);
        expect(new Set(names).size).toBe(pairs.length);
        expect(pairs.map(([server, name]) => toolName(server, name))).toEqual(names);
      },
    ),
    SEEDED,
  );
});

test('the description of a tool is its own, else its title, else its name', () => {
  expect(tool({ description: 'does it', title: 'T' }).description).toBe('does it');
  expect(tool({ description: ' \n', title: 'T' }).description).toBe('T');
  expect(tool({ annotations: { title: 'A' } }).description).toBe('A');
  expect(tool({}).description).toBe('x');
  expect(tool({ name: '' }).description).not.toBe('');
  expect(tool({ description: 'a\ud800b\0c' }).description).toBe('a\ufffdbc');
  expect(tool({ description: '👩‍👩‍👧‍👦'.repeat(1_000) }).description.length).toBeLessThanOrEqual(4_000);
});

test('a tool is repeatable only if readOnlyHint or idempotentHint is true', () => {
  expect(tool({}).repeatable).toBe(false);
  expect(tool({ annotations: { readOnlyHint: true } }).repeatable).toBe(true);
  expect(tool({ annotations: { idempotentHint: true } }).repeatable).toBe(true);
  expect(tool({ annotations: { readOnlyHint: false, idempotentHint: false } }).repeatable).toBe(false);
});

test('passes a schema on unchanged, patterns included, except for the name of its draft', () => {
  const at = (a: unknown) => ({ type: 'object', properties: { a } });
  const schemas = [
    { ...at({ type: 'string', description: 'ю' }), additionalProperties: false },
    at({ type: 'string', pattern: '^(a|a)*$' }),
    at({ type: 'string', pattern: '(', format: 'no such format' }),
    { ...at({ $ref: '#/$defs/b' }), $defs: { b: { patternProperties: { '^(b|b)*$': {} } } } },
    at({ default: { minimum: 0, exclusiveMinimum: true }, enum: [{ $schema: 'x' }, '\\ud800'] }),
  ];
  for (const schema of schemas) {
    expect(tool({ inputSchema: schema }).inputSchema).toEqual(schema);
    const $schema = 'http://json-schema.org/draft-07/schema#';
    expect(tool({ inputSchema: { $schema, ...schema } }).inputSchema).toEqual(schema);
  }
});

test('leaves out a tool whose schema the API would refuse, and the reason says where it is wrong', () => {
  const at = (a: unknown) => ({ type: 'object', properties: { a } });
  const deep = JSON.parse(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`);
  const wrong: [unknown, RegExp][] = [
    [undefined, /no tool of the protocol: inputSchema .*expected object/],
    ['object', /no tool of the protocol: inputSchema .*expected object/],
    [{}, /no tool of the protocol: inputSchema.type .*expected "object"/],
    [{ type: ['object', 'null'] }, /no tool of the protocol: inputSchema.type .*expected "object"/],
    [at({ type: 'any' }), /\/properties\/a\/type must be equal to one of the allowed values/],
    [at({ type: 'string', required: true }), /\/properties\/a\/required must be array/],
    [at({ minLength: '1' }), /\/properties\/a\/minLength must be integer/],
    [at({ minimum: 0, exclusiveMinimum: true }), /exclusiveMinimum must be number/],
    [at({ items: [{ type: 'string' }] }), /\/properties\/a\/items must be/],
    [{ type: 'object', properties: { 'a b': {} } }, /has a name .*"a b"/],
    [{ ...at({}), anyOf: [{ required: ['a'] }] }, /a choice \(anyOf\) at the top/],
    [{ type: 'object', properties: 7 }, /no tool of the protocol: inputSchema.properties .*expected record/],
    [{ type: 'object', a: 'x'.repeat(100_001) }, /has 1000\d\d characters/],
    [{ type: 'object', deep }, /nested deeper than 100 levels/],
    [at({ enum: ['v\udfff'] }), /holds what is no text/],
    [at({ enum: ['\0'] }), /holds what is no text/],
  ];
  for (const [inputSchema, why] of wrong) expect(whyNot(inputSchema)).toMatch(why);
});

test('reads the largest schemas in a moment, whatever is in them, and larger ones not at all', () => {
  const names = Array.from({ length: 13_000 }, (_, at) => at.toString(36));
  const wrong = { type: 'object', properties: Object.fromEntries(Array.from({ length: 200_000 }, (_, at) => [at, 1])) };
  const began = cpuMs();
  for (const a of [{ type: names }, { required: names }, { enum: names }, { pattern: '(a*)*'.repeat(15_000) }])
    readTool({ name: 'x', inputSchema: { type: 'object', properties: { a } } });
  expect(whyNot(wrong)).toMatch(/has \d+ characters/);
  expect(tool({ outputSchema: wrong }).name).toBe('x');
  expect(cpuMs() - began).toBeLessThan(500);
});

test('removes what is no tool and reports it, and skips a task-only tool without a report', () => {
  for (const listed of [null, 7, [], {}, { name: 7 }]) {
    expect(readTool(listed)).toEqual({ tool: '', why: expect.stringMatching(/^it is no tool of the protocol: /) });
  }
  expect(
    readTool({ name: 'x', inputSchema: { type: 'object' }, execution: { taskSupport: 'required' } }),
  ).toBeUndefined();
});

test('readTool never throws, and a tool that it returns has a well-formed object schema', () => {
  const listed = fc.record(
    {
      name: fc.oneof(rawTexts(), fc.jsonValue()),
      title: fc.jsonValue(),
      description: fc.oneof(rawTexts(), fc.jsonValue()),
      inputSchema: fc.oneof(fc.jsonValue(), fc.record({ type: fc.constant('object'), properties: fc.jsonValue() })),
      outputSchema: fc.jsonValue(),
      annotations: fc.jsonValue(),
      execution: fc.jsonValue(),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.oneof(listed, fc.jsonValue()), (json) => {
      const read = readTool(json);
      if (read === undefined || 'why' in read) return;
      expect(JSON.stringify(read.inputSchema)).not.toMatch(/(?<!\\)(?:\\\\)*\\ud[89a-f]/);
      expect(read.inputSchema.type).toBe('object');
    }),
    SEEDED,
  );
});
