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
  const box = {
    list: names.map(spec),
    specs: () => [...box.list],
    call: async ({ name }: { name: string }) => ({ parts: [{ type: 'text' as const, text: name }], isError: false }),
  };
  return box;
}

function call(box: Toolbox, name: string) {
  return box.call({ id: 'call', name, input: {}, turn: { session: 's-1' } as never }, new AbortController().signal);
}

test('an excluded tool is not listed, and a call to it is an error; the others keep their order', async () => {
  const box = withExclusions(joinToolboxes([boxOf('a', 'b'), boxOf('c')]));
  expect(box.exclude('b', 'its schema is refused')).toBe(true);
  expect(box.specs().map(({ name }) => name)).toEqual(['a', 'c']);
  expect(await call(box, 'b')).toMatchObject({
    isError: true,
    parts: [{ text: expect.stringMatching(/not available/) }],
  });
  expect(await call(box, 'c')).toMatchObject({ isError: false });
  expect(box.excluded()).toEqual([{ tool: 'b', why: 'its schema is refused' }]);
});

test('exclude returns false and changes nothing for an excluded or unknown tool', () => {
  const box = withExclusions(boxOf('a', 'b'));
  expect([box.exclude('b', 'first'), box.exclude('b', 'second'), box.exclude('x', 'never there')]).toEqual([
    true,
    false,
    false,
  ]);
  expect(box.excluded()).toEqual([{ tool: 'b', why: 'first' }]);
});

test('specs() returns the same array until it changes, and a tool stays excluded when it is listed again', () => {
  const inner = boxOf('a', 'b');
  const box = withExclusions(inner);
  const before = box.specs();
  expect(box.specs()).toBe(before);
  box.exclude('x', 'never there');
  expect(box.specs()).toBe(before);
  box.exclude('a', 'refused');
  const after = box.specs();
  expect(after).not.toBe(before);
  expect(box.specs()).toBe(after);
  inner.list = [spec('a'), ...inner.list, spec('c')];
  expect(box.specs().map(({ name }) => name)).toEqual(['b', 'c']);
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

test('joined toolboxes list the same array until a tool comes or goes', () => {
  const first = boxOf('a');
  const box = joinToolboxes([first, boxOf('b')]);
  const before = box.specs();
  expect(box.specs()).toBe(before);
  first.list = [...first.list, spec('c')];
  expect(box.specs().map(({ name }) => name)).toEqual(['a', 'c', 'b']);
  expect(box.specs()).not.toBe(before);
});
