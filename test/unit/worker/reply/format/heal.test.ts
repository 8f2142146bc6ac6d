import { expect, test } from '@jest/globals';
import { healMarkdown } from '../../../../../worker/reply/format/heal.ts';
import { layOut, textOf } from '../../../../../worker/reply/format/layout.ts';
import { cpuMs, forAll, LINEAR_MS_MAX, rawTexts } from '../../../../fixture/texts.ts';

test.each<[string, string]>([
  ['a **b', 'a **b**'],
  ['a **b *c', 'a **b *c***'],
  ['- **a**: `b`\n- **c', '- **a**: `b`\n- **c**'],
  ['run `npm', 'run `npm`'],
  ['a `**` b', 'a `**` b'],
  ['a ||b', 'a ||b||'],
  ['a ~~b', 'a ~~b~~'],
  ['a **', 'a'],
  ['see [the page](https://x.o', 'see the page'],
  ['2 * 3 and snake_case', '2 * 3 and snake_case'],
  ['**open\n\nnew', '**open\n\nnew'],
  ['```ts\nconst a = **', '```ts\nconst a = **'],
  ['```a`b\n**c', '```a`b\n**c```'],
  ['x ```ts\n**a', 'x ```ts\n**a```'],
  ['~~\n**a', '~~\n**a**'],
  ['```\na\n```\n**b', '```\na\n```\n**b**'],
  ['```\na\n  ```  \n**b', '```\na\n  ```  \n**b**'],
  ['```\na\n``` x\n**b', '```\na\n``` x\n**b'],
  ['```\na\n~~~\n**b', '```\na\n~~~\n**b'],
  ['~~~\na\n```\n**b', '~~~\na\n```\n**b'],
  ['````\na\n```\n**b', '````\na\n```\n**b'],
  ['```\n`\nx', '```\n`\nx'],
  ['see __init', 'see __init'],
  ['é_b', 'é_b'],
  ['x**2 and a||b', 'x**2 and a||b'],
  ['a`b', 'a`b`'],
  ['a ``b` c', 'a ``b` c``'],
  ['``a`b`` **c', '``a`b`` **c``'],
  ['`` ` **a', '`` ` **a'],
  ['[a](x)[b](y', '[a](x)b'],
  ['see [x](https://y.org) and [z', 'see [x](https://y.org) and [z'],
  ['**a *', '**a**'],
  ['*a **b ~~c', '*a **b ~~c~~***'],
  ['a\n\n**b\n\nc **d', 'a\n\n**b\n\nc **d**'],
  ['```ts\nconst a\n``', '```ts\nconst a'],
])('%j becomes %j', (markdown, expected) => {
  expect(healMarkdown(markdown)).toBe(expected);
});

test('what is shown of an answer while it is written shows no unfinished marks', () => {
  const answer = 'Some **bold words**, `some code` and a [link](https://example.org/path).\n\n```ts\nlet a = 1;\n```\n';
  for (let length = 1; length <= answer.length; length += 1) {
    const shown = layOut(healMarkdown(answer.slice(0, length)), { rich: 'off' })
      .map(textOf)
      .join('\n');
    expect(shown).not.toMatch(/\*\*\w|`some|]\(https|let.*``/);
  }
});

test('never throws, and takes linear time', () => {
  forAll([rawTexts(80)], (text) => expect(typeof healMarkdown(text)).toBe('string'));
  const start = cpuMs();
  for (const pattern of ['*a ', '`', '**', '_a', '[', '[a](', '||', '\\', '~~ ']) healMarkdown(pattern.repeat(100_000));
  expect(cpuMs() - start).toBeLessThan(LINEAR_MS_MAX);
});
