import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { boundTools } from '../../../../../worker/features/mcp/toolbox.ts';
import type { ToolSpec } from '../../../../../worker/tools/toolbox.ts';
import { graphemeTexts, SEEDED } from '../../../../fixture/texts.ts';

function spec(name: string, description: string): ToolSpec {
  return { name, description, inputSchema: { type: 'object' }, repeatable: false };
}

function sizeOf(specs: readonly ToolSpec[]): number {
  const sent = specs.map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema }));
  return JSON.stringify(sent).length;
}

test('returns tools that fit as they are', () => {
  const specs = [spec('a', 'x'.repeat(3_900)), spec('b', 'short')];
  expect(boundTools(specs, 10_000)).toEqual({ specs, omitted: [] });
  expect(boundTools([], 0)).toEqual({ specs: [], omitted: [] });
});

test('cuts long descriptions before it removes a tool, and only as far as needed', () => {
  const specs = [spec('a', 'x'.repeat(3_000)), spec('b', 'y'.repeat(3_000)), spec('c', 'short')];
  const lengths = (charsMax: number) => boundTools(specs, charsMax).specs.map(({ description }) => description.length);
  expect(lengths(7_000)).toEqual([3_000, 3_000, 5]);
  expect(lengths(6_000)).toEqual([1_000, 1_000, 5]);
  expect(lengths(2_000)).toEqual([300, 300, 5]);
  expect(boundTools(specs, 2_000).specs[0]?.description).toMatch(/^x+…$/);
});

test('removes and names a tool that does not fit, and keeps a smaller one after it', () => {
  const large = { ...spec('large', ''), inputSchema: { type: 'object', a: 'x'.repeat(1_000) } };
  const { specs, omitted } = boundTools([spec('a', ''), large, spec('b', '')], 300);
  expect(specs.map(({ name }) => name)).toEqual(['a', 'b']);
  expect(omitted).toEqual([{ tool: 'large', why: 'all tools together would have more than 300 characters' }]);
});

test('for any tools the limit holds, each tool is kept or named, and descriptions are well-formed', () => {
  const any = fc.array(fc.tuple(fc.stringMatching(/^[a-z]{1,8}$/), graphemeTexts()), { maxLength: 12 });
  fc.assert(
    fc.property(any, fc.integer({ min: 0, max: 2_000 }), (pairs, charsMax) => {
      const all = pairs.map(([name, text]) => spec(name, text.repeat(20)));
      const { specs, omitted } = boundTools(all, charsMax);
      expect(specs.length === 0 || sizeOf(specs) <= charsMax + 1).toBe(true);
      const kept = [...specs.map(({ name }) => name), ...omitted.map(({ tool }) => tool)];
      expect(kept.toSorted()).toEqual(all.map(({ name }) => name).toSorted());
      for (const { description } of specs) expect(description.isWellFormed()).toBe(true);
    }),
    SEEDED,
  );
});
