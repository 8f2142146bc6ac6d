import { expect, test } from '@jest/globals';
import type { Toolbox, ToolSpec } from '../../../../worker/tools/toolbox.ts';
import { joinToolboxes, withExclusions } from '../../../../worker/tools/toolboxes.ts';

const spec = (name: string): ToolSpec => ({
  name,
  description: name,
  inputSchema: { type: 'object' },
  repeatable: true,
});

function boxOf(...names: string[]): Toolbox & { list: ToolSpec[] } {
  return {
    list: names.map(spec),
    specs() {
      return [...this.list];
    },
    call: async ({ name }) => ({ parts: [{ type: 'text', text: name }], isError: false }),
  };
}

const namesOf = (box: Toolbox) => box.specs().map(({ name }) => name);

function call(box: Toolbox, name: string) {
  return box.call({ id: 'call', name, input: {}, turn: { session: 's-1' } as never }, new AbortController().signal);
}

test('an excluded tool is not listed, also when it comes back, and a call to it is an error; an unknown one is none', async () => {
  const last = boxOf('c');
  const box = withExclusions(joinToolboxes([boxOf('a', 'b'), last]));
  const exclusions = [box.exclude('b', 'refused'), box.exclude('b', 'second'), box.exclude('x', 'never there')];
  expect(exclusions).toEqual([true, false, false]);
  expect(box.excluded()).toEqual([{ tool: 'b', why: 'refused' }]);
  last.list = [spec('b'), ...last.list];
  expect(namesOf(box)).toEqual(['a', 'c']);
  const parts = [{ text: expect.stringMatching(/not available/) }];
  expect(await call(box, 'b')).toMatchObject({ isError: true, parts });
  expect(await call(box, 'c')).toMatchObject({ isError: false });
});

test('a list is the same array until a tool comes, goes or is excluded', () => {
  const first = boxOf('a');
  const joined = joinToolboxes([first, boxOf('b')]);
  const box = withExclusions(joined);
  const before = [joined.specs(), box.specs()];
  box.exclude('x', 'never there');
  expect([joined.specs() === before[0], box.specs() === before[1]]).toEqual([true, true]);
  box.exclude('b', 'refused');
  const after = box.specs();
  expect([joined.specs() === before[0], after === before[1], after === box.specs()]).toEqual([true, false, true]);
  first.list = [...first.list, spec('c')];
  expect([namesOf(joined), joined.specs() === before[0]]).toEqual([['a', 'c', 'b'], false]);
});

test('keeps the other members of a toolbox, such as stop() and its name', async () => {
  let stopped = 0;
  const stop = async () => {
    stopped += 1;
  };
  const box = withExclusions({ ...boxOf('a'), name: 'mcp', stop });
  await box.stop();
  expect([box.name, stopped]).toEqual(['mcp', 1]);
});
