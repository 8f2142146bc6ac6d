import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type McpTool, readTool } from '../../../../../worker/features/mcp/tool.ts';
import { toolName } from '../../../../../worker/features/mcp/tool-name.ts';
import { boundTools } from '../../../../../worker/features/mcp/toolbox.ts';
import type { ToolSpec } from '../../../../../worker/tools/toolbox.ts';
import { cpuMs, forAll, graphemeTexts, rawTexts } from '../../../../fixture/texts.ts';

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

test.each([
  ['files', 'read_file', /^files__read_file$/],
  ['my-server', 'a__b', /^my-server__a__b$/],
  ['a', 'b'.repeat(61), /^a__b{61}$/],
  ['s'.repeat(200), 'read_file', /^s{24}__read_file_[0-9a-f]{8}$/],
])('toolName joins %s and %s where that is legal and unambiguous, and cuts a long server', (server, name, joined) => {
  expect(toolName(server, name)).toMatch(joined);
});

test('toolName is legal, deterministic and unique for any pairs', () => {
  const part = fc.oneof(rawTexts(80), fc.stringMatching(/^[a-b_.]{0,4}$/), fc.stringMatching(/^[A-Za-z0-9_-]{1,70}$/));
  const unique = fc.uniqueArray(fc.tuple(part, part), { maxLength: 40, selector: (pair) => JSON.stringify(pair) });
  forAll([unique], (pairs) => {
    const names = pairs.map(([server, name]) => toolName(server, name));
    for (const name of names) expect(name).toMatch(LEGAL);
    expect(new Set(names).size).toBe(pairs.length);
    expect(pairs.map(([server, name]) => toolName(server, name))).toEqual(names);
  });
});

test.each([
  [{ description: 'does it', title: 'T' }, 'does it'],
  [{ description: ' \n', title: 'T' }, 'T'],
  [{ annotations: { title: 'A' } }, 'A'],
  [{}, 'x'],
  [{ description: 'a\ud800b\0c' }, 'a\ufffdbc'],
])('the description of %j is %j: its own, else its title, else its name', (listed, description) => {
  expect(tool(listed).description).toBe(description);
});

test('a tool is repeatable only if readOnlyHint or idempotentHint is true; a long description is cut', () => {
  const hints = [{}, { readOnlyHint: true }, { idempotentHint: true }, { readOnlyHint: false, idempotentHint: false }];
  expect(hints.map((annotations) => tool({ annotations }).repeatable)).toEqual([false, true, true, false]);
  expect(tool({ name: '' }).description).not.toBe('');
  expect(tool({ description: '👩‍👩‍👧‍👦'.repeat(1_000) }).description.length).toBeLessThanOrEqual(4_000);
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
  forAll([fc.oneof(listed, fc.jsonValue())], (json) => {
    const read = readTool(json);
    if (read === undefined || 'why' in read) return;
    expect(JSON.stringify(read.inputSchema)).not.toMatch(/(?<!\\)(?:\\\\)*\\ud[89a-f]/);
    expect(read.inputSchema.type).toBe('object');
  });
});

function spec(name: string, description: string): ToolSpec {
  return { name, description, inputSchema: { type: 'object' }, repeatable: false };
}

function sizeOf(specs: readonly ToolSpec[]): number {
  const sent = specs.map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema }));
  return JSON.stringify(sent).length;
}

test('cuts long descriptions before it removes a tool, and only as far as needed', () => {
  const specs = [spec('a', 'x'.repeat(3_000)), spec('b', 'y'.repeat(3_000)), spec('c', 'short')];
  const lengths = (charsMax: number) => boundTools(specs, charsMax).specs.map(({ description }) => description.length);
  expect(boundTools(specs, 7_000)).toEqual({ specs, omitted: [] });
  expect(lengths(6_000)).toEqual([1_000, 1_000, 5]);
  expect(lengths(2_000)).toEqual([300, 300, 5]);
  // What is large is left out, and named; what is smaller behind it stays.
  const large = { ...spec('large', ''), inputSchema: { type: 'object', a: 'x'.repeat(1_000) } };
  const { specs: kept, omitted } = boundTools([spec('a', ''), large, spec('b', '')], 300);
  expect(kept.map(({ name }) => name)).toEqual(['a', 'b']);
  expect(omitted).toEqual([{ tool: 'large', why: 'all tools together would have more than 300 characters' }]);
});

test('for any tools the limit holds, each tool is kept or named, and descriptions are well-formed', () => {
  const any = fc.array(fc.tuple(fc.stringMatching(/^[a-z]{1,8}$/), graphemeTexts()), { maxLength: 12 });
  forAll([any, fc.integer({ min: 0, max: 2_000 })], (pairs, charsMax) => {
    const all = pairs.map(([name, text]) => spec(name, text.repeat(20)));
    const { specs, omitted } = boundTools(all, charsMax);
    expect(specs.length === 0 || sizeOf(specs) <= charsMax + 1).toBe(true);
    const kept = [...specs.map(({ name }) => name), ...omitted.map(({ tool }) => tool)];
    expect(kept.toSorted()).toEqual(all.map(({ name }) => name).toSorted());
    for (const { description } of specs) expect(description.isWellFormed()).toBe(true);
  });
});
