import { expect, test } from '@jest/globals';
import type { RichBlock } from '../../stand-in/telegram/rich-blocks.ts';
import { richBlocks } from '../../transcript/rich.ts';

const shown = (...blocks: RichBlock[]) => richBlocks(blocks).source;

test('a table has its header, its alignment and formatted cells', () => {
  const cells = [
    [{ text: 'host', is_header: true, align: 'left' }],
    [{ text: { type: 'bold', text: '<a>' }, align: 'right', colspan: 2 }],
  ];
  const source = shown({ type: 'table', cells });
  expect(source).toContain('<th class="left" colspan="1" rowspan="1">host</th>');
  expect(source).toContain('<td class="right" colspan="2" rowspan="1"><b>&lt;a&gt;</b></td>');
});

test('tasks show whether they are done, numbered items their numbers', () => {
  const blocks = [{ type: 'paragraph', text: 'x' }];
  const items = [
    { label: '•', blocks, has_checkbox: true, is_checked: true },
    { label: '•', blocks, has_checkbox: true },
    { label: '3.', blocks },
  ];
  expect(shown({ type: 'list', items }).match(/class="mark">[^<]*/g)).toEqual([
    'class="mark">☑',
    'class="mark">☐',
    'class="mark">3.',
  ]);
});

test('details, formulas, code, quotes, headings, rules and buttons have a look of their own', () => {
  const inner = [{ type: 'paragraph', text: 'in' }];
  expect(shown({ type: 'details', summary: 'more', blocks: inner })).toBe(
    '<details><summary>more</summary><p>in</p></details>',
  );
  expect(shown({ type: 'mathematical_expression', expression: 'a<b' })).toBe('<p class="formula">a&lt;b</p>');
  expect(shown({ type: 'pre', text: 'x', language: 'js' })).toContain('<span class="language">js</span>');
  expect(shown({ type: 'blockquote', blocks: inner })).toBe('<blockquote><p>in</p></blockquote>');
  expect(shown({ type: 'heading', text: ['a', { type: 'code', text: 'b' }], size: 2 })).toContain('a<code>b</code>');
  expect(shown({ type: 'divider' })).toBe('<hr>');
  expect(shown({ type: 'buttons', buttons: [{ text: 'Go', callback_data: 'x' }] })).toContain('plain">Go<');
});

test('a kind of block that is not known shows its words', () => {
  expect(shown({ type: 'pull_up', text: 'words' })).toContain('words');
});
