import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { answerFault, type McpTool, readTool, toolName } from '../../../../../worker/tools/mcp/tool.ts';
import { rawTexts, SEEDED } from '../../../../fixture/texts.ts';

const LEGAL = /^[A-Za-z0-9_-]{1,64}$/;

function tool(listed: Record<string, unknown>): McpTool {
  const read = readTool({ name: 'x', inputSchema: { type: 'object' }, ...listed });
  if (read === undefined || 'omitted' in read) throw new Error(read?.omitted.why ?? 'not read');
  return read.tool;
}

function whyNot(inputSchema: unknown): string {
  const read = readTool({ name: 'x', inputSchema });
  return read !== undefined && 'omitted' in read ? read.omitted.why : 'taken';
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
  expect(tool({ description: 7 }).description).toBe('x');
  expect(tool({ name: '' }).description).not.toBe('');
  expect(tool({ description: 'a\ud800b\0c' }).description).toBe('a\ufffdbc');
  expect(tool({ description: '👩‍👩‍👧‍👦'.repeat(1_000) }).description.length).toBeLessThanOrEqual(4_000);
});

test('a tool is repeatable only if readOnlyHint or idempotentHint is true', () => {
  expect(tool({}).repeatable).toBe(false);
  expect(tool({ annotations: { readOnlyHint: true } }).repeatable).toBe(true);
  expect(tool({ annotations: { idempotentHint: true } }).repeatable).toBe(true);
  for (const hint of [false, 'true', 1, null]) {
    expect(tool({ annotations: { readOnlyHint: hint, idempotentHint: hint, destructiveHint: false } }).repeatable).toBe(
      false,
    );
  }
});

test('passes a schema on unchanged, except for lone surrogates', () => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'string', description: 'ю' } },
    additionalProperties: false,
  };
  expect(tool({ inputSchema: schema }).inputSchema).toEqual(schema);
  expect(readTool({ name: 'x', inputSchema: schema })).toMatchObject({ changed: false });
  const broken = tool({ inputSchema: { type: 'object', $defs: { 'k\ud800': { enum: ['v\udfff', '\\ud800'] } } } });
  expect(broken.inputSchema).toEqual({ type: 'object', $defs: { 'k\ufffd': { enum: ['v\ufffd', '\\ud800'] } } });
});

test('removes a tool whose schema the API would refuse, and the reason says where it is wrong', () => {
  const at = (a: unknown) => ({ type: 'object', properties: { a } });
  const deep = JSON.parse(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`);
  const wrong: [unknown, RegExp][] = [
    ['object', /not an object/],
    [[], /not an object/],
    [{ type: 'array' }, /its type is not "object"/],
    [{ type: ['object', 'null'] }, /its type is not "object"/],
    [at({ type: 'any' }), /\/properties\/a\/type must be equal to one of the allowed values/],
    [at({ type: 'string', required: true }), /\/properties\/a\/required must be array/],
    [at({ minLength: '1' }), /\/properties\/a\/minLength must be integer/],
    [at({ exclusiveMinimum: 'no' }), /exclusiveMinimum must be number/],
    [at({ $ref: 'https://example.org/a.json' }), /"https:\/\/example.org\/a.json" is referred to and not in it/],
    [at({ $ref: '#/$defs/gone' }), /"#\/\$defs\/gone" is referred to/],
    [at({ $ref: '#/constructor' }), /is referred to/],
    [at({ patternProperties: { '(': {} } }), /"\(" is not a regular expression/],
    [{ type: 'object', properties: { 'a b': {} }, required: ['a b'] }, /requires a property of a name .*"a b"/],
    [{ anyOf: [at({}), at({ type: 'string' })] }, /a choice \(anyOf\) at the top/],
    [{ type: 'object', properties: 7 }, /properties must be object/],
    [{ type: 'object', a: 'x'.repeat(100_001) }, /has 1000\d\d characters/],
    [{ type: 'object', deep }, /nested deeper than 100 levels/],
  ];
  for (const [inputSchema, why] of wrong) expect(whyNot(inputSchema)).toMatch(why);
});

test('translates schemas of older drafts into the new one, and leaves data and property names unchanged', () => {
  const at = (a: unknown) => ({ type: 'object', properties: { a } });
  const pairs: [unknown, unknown][] = [
    [undefined, { type: 'object' }],
    [null, { type: 'object' }],
    [{}, { type: 'object' }],
    [{ properties: { a: {} } }, at({})],
    [{ $schema: 'http://json-schema.org/draft-04/schema#', ...at({}) }, at({})],
    [
      { type: 'object', properties: [] },
      { type: 'object', properties: {} },
    ],
    [at({ minimum: 0, exclusiveMinimum: true }), at({ exclusiveMinimum: 0 })],
    [at({ maximum: 9, exclusiveMaximum: false }), at({ maximum: 9 })],
    [at({ exclusiveMaximum: true }), at({})],
    [
      at({ items: [{ type: 'string' }], additionalItems: false }),
      at({ prefixItems: [{ type: 'string' }], items: false }),
    ],
    [at({ items: [{ maximum: 1, exclusiveMaximum: true }] }), at({ prefixItems: [{ exclusiveMaximum: 1 }] })],
    [at({ type: 'string', pattern: '^\\p{L}+$' }), at({ type: 'string' })],
    [at({ type: 'string', pattern: '(' }), at({ type: 'string' })],
  ];
  for (const [listed, sent] of pairs) expect(tool({ inputSchema: listed }).inputSchema).toEqual(sent);
  const untouched = [
    at({ default: { minimum: 0, exclusiveMinimum: true, items: [1] }, enum: [{ exclusiveMinimum: true }] }),
    { type: 'object', properties: { exclusiveMinimum: true, items: { type: 'string' }, pattern: { type: 'string' } } },
    { ...at({ $ref: '#/definitions/a~1b%20c' }), definitions: { 'a/b c': { type: 'string' } } },
    { ...at({ $ref: '#' }), patternProperties: { '^x[\\w\\-]+$': {} } },
    at({ pattern: '^(?=.*a)(?<!b)c' }),
  ];
  for (const same of untouched) expect(tool({ inputSchema: same }).inputSchema).toEqual(same);
});

test('removes a tool without a name and reports it, and skips a task-only tool without a report', () => {
  for (const listed of [null, 7, [], {}, { name: 7 }]) {
    expect(readTool(listed)).toEqual({ omitted: { tool: '', why: 'it has no name' } });
  }
  expect(readTool({ name: 'x', execution: { taskSupport: 'required' } })).toBeUndefined();
  expect(readTool({ name: 'x', execution: { taskSupport: 'optional' } })).toHaveProperty('tool');
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
    fc.property(fc.oneof(listed, fc.jsonValue()), fc.jsonValue(), (json, answer) => {
      const reading = readTool(json);
      if (reading === undefined || 'omitted' in reading) return;
      const read = reading.tool;
      expect(JSON.stringify(read.inputSchema)).not.toMatch(/(?<!\\)(?:\\\\)*\\ud[89a-f]/);
      expect(read.inputSchema.type).toBe('object');
      expect(typeof (answerFault(read, { structuredContent: answer }) ?? '')).toBe('string');
    }),
    SEEDED,
  );
});

test('answerFault finds structuredContent that breaks outputSchema, and ignores an unreadable outputSchema', () => {
  const promise = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
  const strict = tool({ outputSchema: promise });
  expect(answerFault(strict, { structuredContent: { n: 1 } })).toBeUndefined();
  expect(answerFault(strict, { structuredContent: { n: 'x' } })).toMatch(/number/);
  expect(answerFault(strict, { content: [] })).toBeUndefined();
  for (const answer of [null, undefined, 7, 'x']) expect(answerFault(strict, answer)).toBeUndefined();
  const unreadable = tool({ outputSchema: { type: 'no such type' } });
  for (const n of [1, 2]) expect(answerFault(unreadable, { structuredContent: { n } })).toBeUndefined();
});

test('two tools may use the same $id for different output schemas', () => {
  const one = tool({ outputSchema: { $id: 'answer', type: 'object', required: ['a'] } });
  const other = tool({ outputSchema: { $id: 'answer', type: 'object', required: ['b'] } });
  expect(answerFault(one, { structuredContent: { a: 1 } })).toBeUndefined();
  expect(answerFault(other, { structuredContent: { b: 1 } })).toBeUndefined();
  expect(answerFault(other, { structuredContent: { a: 1 } })).toMatch(/b/);
});

test('drops from a schema what the Messages API would refuse, and keeps the rest', () => {
  const plain = {
    type: 'object',
    properties: { a: { anyOf: [{ type: 'string' }, { type: 'null' }] } },
    required: ['a'],
  };
  for (const choice of ['anyOf', 'oneOf', 'allOf'])
    expect(tool({ inputSchema: { ...plain, [choice]: [{ required: ['a'] }] } }).inputSchema).toEqual(plain);
  const odd = { ...plain, properties: { ...plain.properties, 'with space': {}, $ref: {}, ['x'.repeat(65)]: {} } };
  expect(tool({ inputSchema: odd }).inputSchema).toEqual(plain);
});
