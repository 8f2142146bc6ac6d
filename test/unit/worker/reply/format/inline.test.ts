import { expect, test } from '@jest/globals';
import { parse } from '../../../../../worker/reply/format/parse.ts';
import { type Block, type Inline, paragraph, plain } from '../../../../../worker/reply/format/tree.ts';

const text = (said: string): Block => paragraph(plain(said));
const code = (said: string): Inline => ({ type: 'code', text: said });
const link = (url: string, said = url): Inline => ({ type: 'link', url, inlines: [plain(said)] });

test('replaces character references once, and not in code', () => {
  expect(parse('&lt;b&gt; &amp;lt; &#38;lt; &#x41; &hellip; &unknown; \\&amp; &#0; `&lt;`')).toEqual([
    paragraph(plain('<b> &lt; &lt; A … &unknown; &amp; &#0; '), code('&lt;')),
  ]);
});

test('links only what Telegram takes as a link; any other destination follows the text', () => {
  const [read] = parse(
    '[a](https://x.org/a_b_c) [b](tg://resolve?domain=x) https://y.org/*z*/ <https://w.org> ' +
      '[c](docs/c.md) [d](mailto:d@x.org) [e](http://localhost:80) [f](#part) [g](javascript:x) me@x.org www.x.org',
  );
  expect(read).toEqual(
    paragraph(
      link('https://x.org/a_b_c', 'a'),
      plain(' '),
      link('tg://resolve?domain=x', 'b'),
      plain(' '),
      link('https://y.org/*z*/'),
      plain(' '),
      link('https://w.org'),
      plain(' c (docs/c.md) d (d@x.org) e (http://localhost:80) f g (javascript:x) me@x.org www.x.org'),
    ),
  );
});

test('an image is a link with its description, or else its URL', () => {
  expect(parse('![A cat](https://x.org/c.png) ![](https://x.org/d.png) ![x](d.png)')).toEqual([
    paragraph(link('https://x.org/c.png', 'A cat'), plain(' '), link('https://x.org/d.png'), plain(' x (d.png)')),
  ]);
});

test('resolves references of links, and shows a definition that nothing uses', () => {
  expect(
    parse('[a][1] and [2]\n\n[1]: https://x.org "Title"\n[2]: https://y.org\n[3]: https://z.org\n\n[note]: see above'),
  ).toEqual([
    paragraph(link('https://x.org', 'a'), plain(' (Title) and '), link('https://y.org', '2')),
    text('[3]: https://z.org'),
    text('[note]: see above'),
  ]);
});

test('a formula between dollar signs is told from money and variables', () => {
  const formula = (said: string): Inline => ({ type: 'formula', text: said });
  for (const said of [
    'from $395k … $483k',
    '$5 and $6',
    '$HOME:$PATH',
    'US$5 or A$6',
    '$ x $',
    '$5$',
    '\\$x\\$',
    'a $b',
  ]) {
    expect(parse(said)).toEqual([text(said.replaceAll('\\', ''))]);
  }
  expect(parse('so $x^2$ and $\\frac{1}{2}$, not `$y$`')).toEqual([
    paragraph(plain('so '), formula('x^2'), plain(' and '), formula('\\frac{1}{2}'), plain(', not '), code('$y$')),
  ]);
});

test('one tilde and marks without text are no marks', () => {
  expect(parse('~5 to ~6, ~a~, a || b || c, 2 * 3 * 4, snake_case_name')).toEqual([
    text('~5 to ~6, ~a~, a || b || c, 2 * 3 * 4, snake_case_name'),
  ]);
});
