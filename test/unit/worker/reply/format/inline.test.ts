import { expect, test } from '@jest/globals';
import { destinationOf, linkUrl } from '../../../../../worker/reply/format/link.ts';
import { parse } from '../../../../../worker/reply/format/parse.ts';
import { shown } from '../../../../fixture/tagged.ts';

test.each<[string, string]>([
  [
    '&lt;b&gt; &amp;lt; &#38;lt; &#x41; &hellip; &unknown; \\&amp; &#0; `&lt;`',
    '<b> &lt; &lt; A … &unknown; &amp; &#0; <c>&lt;</c>',
  ],
  ['&quot;&apos;&nbsp;&mdash;&ndash;&larr;&rarr;&times;&copy;', '"\'\u00a0—–←→×©'],
  [
    '&#55295; &#55296; &#57343; &#57344; &#1114111; &#1114112;',
    '\ud7ff &#55296; &#57343; \ue000 \u{10ffff} &#1114112;',
  ],
  [
    '[a](https://x.org/a_b_c) [b](tg://resolve?domain=x) https://y.org/*z*/ <https://w.org>',
    '<a https://x.org/a_b_c>a</a> <a tg://resolve?domain=x>b</a> <a https://y.org/*z*/>https://y.org/*z*/</a> <a https://w.org>https://w.org</a>',
  ],
  [
    '[c](docs/c.md) [d](mailto:d@x.org) [e](http://localhost:80) [f](#part) [g](javascript:x) me@x.org www.x.org',
    'c (docs/c.md) d (d@x.org) e (http://localhost:80) f g (javascript:x) me@x.org www.x.org',
  ],
  [
    '![A cat](https://x.org/c.png) ![](https://x.org/d.png) ![x](d.png) ![](x.png)',
    '<a https://x.org/c.png>A cat</a> <a https://x.org/d.png>https://x.org/d.png</a> x (d.png)  (x.png)',
  ],
  [
    '[a][1] and [2]\n\n[1]: https://x.org "Title"\n[2]: https://y.org\n[3]: https://z.org\n\n[note]: see above',
    '<a https://x.org>a</a> (Title) and <a https://y.org>2</a>\n[3]: https://z.org\n[note]: see above',
  ],
  ['from $395k … $483k', 'from $395k … $483k'],
  ['$5 and $6', '$5 and $6'],
  ['$HOME:$PATH', '$HOME:$PATH'],
  ['US$5 or A$6', 'US$5 or A$6'],
  ['$ x $', '$ x $'],
  ['\\$x\\$', '$x$'],
  ['a $b', 'a $b'],
  ['so $x^2$ and $\\frac{1}{2}$, not `$y$`', 'so <f>x^2</f> and <f>\\frac{1}{2}</f>, not <c>$y$</c>'],
  ['~5 to ~6, ~a~, a || b || c, 2 * 3 * 4, snake_case_name', '~5 to ~6, ~a~, a || b || c, 2 * 3 * 4, snake_case_name'],
  ['[a]: https://x.org\n[a]: https://x.org\n\n[a]', '[a]: https://x.org\n<a https://x.org>a</a>'],
  ['[a]:https://x.org\n\n[a] ![b][a]', '<a https://x.org>a</a> <a https://x.org>b</a>'],
  ['[bc]:  \n  <http://x.org>\n\n[bc]', '<a http://x.org>bc</a>'],
  ['[d]: mailto:a@b.c\n\n[d]', 'd (a@b.c)'],
  ['![a][1] [b](https://y.org]\n\n[1]: https://x.org', '<a https://x.org>a</a> [b](https://y.org]'],
  ['a $x $ b', 'a $x $ b'],
  ['$2x$ $a2$ $2=2$', '$2x$ <f>a2</f> <f>2=2</f>'],
  ['$x$y', '$x$y'],
  [
    'The point \\((x,y) \\neq (0,0)\\) and\n\\[ a^2 + b^2 = c^2 \\]',
    'The point <f>(x,y) \\neq (0,0)</f> and\n[formula a^2 + b^2 = c^2]',
  ],
  ['\\[\nx\n\\]\n\n  $$y$$\n\n\\[ z \\] so', '[formula x]\n[formula y]\n[ z ] so'],
  ['\\begin{align*}\na \\\\\n\\end{align*}', '[formula \\begin{align*}\na \\\\\n\\end{align*}]'],
  ['當\\(x>0\\)時$f$為', '當<f>x>0</f>時<f>f</f>為'],
  ['\\[x\\], \\[1\\], \\(see the note\\), \\( \\), \\(x', '[x], [1], (see the note), ( ), (x'],
  ["s/\\(a\\)/ '\\(b\\)", "s/(a)/ '(b)"],
  ['$(a):$(b)', '$(a):$(b)'],
  ['a||b||c (||d||) 文||字||文 ||e||f, g ||h||', 'a||b||c (<sp>d</sp>) 文<sp>字</sp>文 ||e||f, g <sp>h</sp>'],
  ['handlers[name](input) [name](input)', 'handlers[name](input) name (input)'],
  ['a <br/> b<br >c<BR>d <br x> x<br>y', 'a \n b\nc\nd <br x> x\ny'],
  ['a  \t \nb', 'a\nb'],
  ['[]()', '[]()'],
  ['[ ](https://x.org) [](  )', '<a https://x.org>https://x.org</a> [](  )'],
  ['[a](https://x.org "a") [b](https://x.org " ")', '<a https://x.org>a</a> <a https://x.org>b</a> ( )'],
  ['[a](https://x.org "b &amp; c")', '<a https://x.org>a</a> (b & c)'],
  ['![ ](x.png "t")', '(x.png) (t)'],
  ['||a|| || b|| ||c || ||de||', '<sp>a</sp> || b|| <sp>c || ||de</sp>'],
  ['`` ` `` ` `', '<c>`</c> <c> </c>'],
  ['| a |\n|---|\n| b | c |  |\n| d \\| e | f \\| g |\n| h', '[table left,left,left a|| / b|c| / d | e|f | g| / h||]'],
  [
    '| a |\n|---|\n  b | **c** | [d](https://x.org) |  ',
    '[table left,left,left a|| / b|<b>c</b>|<a https://x.org>d</a>]',
  ],
  ['a_重：_b', 'a_重：_b'],
  [
    '**a ||b *c ~~d **e *f ~~g *h **i** h* g~~ f* e** d~~ c* b|| a**',
    '<b>a <sp>b <i>c <s>d <b>e <i>f <s>g <i>h <b>i</b> h</i> g</s> f</i> e</b> d</s> c</i> b</sp> a</b>',
  ],
  [
    '*a **b *c **d *e **f *g **h *i **j** i* h** g* f** e* d** c* b** a*',
    '<i>a <b>b <i>c <b>d <i>e <b>f <i>g <b>h <i>i **j** i</i> h</b> g</i> f</b> e</i> d</b> c</i> b</b> a</i>',
  ],
])('reads %j', (markdown, read) => {
  expect(shown(parse(markdown))).toBe(read);
});

const LINKS = [
  'http://x.org',
  'https://[::1]/',
  'tg://a',
  'tg://a/b',
  'tg://a?b',
  `https://x.org/${'a'.repeat(1_986)}`,
];

test.each(LINKS)('%s can be a link, also with spaces around it', (url) => {
  expect(linkUrl(` ${url} `)).toBe(url);
});

test.each(
  `xhttps://x.org·https://x .org·https://x..·https://exa%20mple.org·xtg://a·tg://a b·tg://a!b·tg://a?b c·https://x.org/${'a'.repeat(1_987)}`.split(
    '·',
  ),
)('%s can be none', (url) => {
  expect(linkUrl(url)).toBeUndefined();
});

test.each<[string, string, string]>([
  ['', 'a', ''],
  [' a ', 'a', ''],
  ['a', ' a ', ''],
  ['#part', 'a', ''],
  ['MAILTO:a@b.c', 'a', ' (a@b.c)'],
  ['x-mailto:y', 'a', ' (x-mailto:y)'],
])('a destination %j that is no link, after %j: %j', (href, text, said) => {
  expect(destinationOf(href, text)).toBe(said);
});
