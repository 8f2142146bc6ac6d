import { expect, test } from '@jest/globals';
import { formattedText } from '../../transcript/entities.ts';

const shown = (
  text: string,
  ...entities: { type: string; offset: number; length: number; [more: string]: unknown }[]
) => formattedText(text, entities).source;

test('offsets count UTF-16 units, so that what stands behind an emoji is marked where it is', () => {
  const text = '👩‍👩‍👧 go 🚀 now';
  const offset = text.indexOf('🚀');
  expect(shown(text, { type: 'bold', offset, length: 2 })).toBe('👩‍👩‍👧 go <b>🚀</b> now');
});

test('entities nest, in whatever order they come; one that crosses another ends with it', () => {
  const [italic, bold] = [
    { type: 'italic', offset: 2, length: 2 },
    { type: 'bold', offset: 0, length: 6 },
  ];
  expect(shown('abcdef', italic, bold)).toBe('<b>ab<i>cd</i>ef</b>');
  expect(shown('abcdef', { type: 'bold', offset: 0, length: 3 }, { type: 'italic', offset: 2, length: 3 })).toBe(
    '<b>ab<i>c</i></b>def',
  );
});

test('code has its language, and a quote its lines; the line ends around them show once', () => {
  const text = 'a\nx = 1\nb';
  expect(shown(text, { type: 'pre', offset: 2, length: 5, language: 'js' })).toBe(
    'a<pre><span class="language">js</span><code>x = 1</code></pre>b',
  );
  expect(shown('a\n\nq\n\nb', { type: 'blockquote', offset: 3, length: 1 })).toBe('a\n<blockquote>q</blockquote>\nb');
});

test('an expandable quote is folded', () => {
  expect(shown('one\ntwo', { type: 'expandable_blockquote', offset: 0, length: 7 })).toContain(
    '<summary>one …</summary>',
  );
});

test('a link leads only where a link may lead', () => {
  const to = (url: string) => shown('x', { type: 'text_link', offset: 0, length: 1, url });
  expect(to('https://a.example/?a=1&b="2"')).toBe(
    '<a href="https://a.example/?a=1&amp;b=&quot;2&quot;" rel="noreferrer">x</a>',
  );
  for (const url of ['javascript:alert(1)', ' javascript:alert(1)', 'data:text/html,x', 'JavaScript:x']) {
    expect(to(url)).toBe('<span class="link">x</span>');
  }
});

test('text that looks like HTML stays text, and marks that turn the reading direction are shown by name', () => {
  expect(shown('<script>alert("1")</script>')).toBe('&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;');
  expect(shown('safe\u202Egpj.exe')).toBe('safe<i class="hidden">U+202E</i>gpj.exe');
  expect(shown('x', { type: 'pre', offset: 0, length: 1, language: '"><script>' })).not.toContain('<script>');
});

test('an entity of a kind that is not known shows its words', () => {
  expect(shown('#tag', { type: 'hashtag', offset: 0, length: 4 })).toBe('<span class="link">#tag</span>');
  expect(shown('x', { type: 'constructor', offset: 0, length: 1 })).toBe('<span class="link">x</span>');
});
