import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Block } from '../../../../worker/model/block.ts';
import { sourcesOf, withSources } from '../../../../worker/reply/sources.ts';
import { serverTools } from '../../../../worker/tools/server-tools.ts';
import { forCases, rawTexts } from '../../../fixture/texts.ts';

const found = (url: unknown, title: unknown = 'A page') => ({
  type: 'web_search_result_location',
  url,
  title,
  cited_text: 'so it is',
  encrypted_index: 'x',
});

function said(...citations: unknown[]): Block {
  return { type: 'text', text: 'So it is.', citations };
}

test('serverTools returns the enabled web tools, always in the same order', () => {
  const of = (WEB_SEARCH: boolean, WEB_FETCH: boolean) => serverTools({ WEB_SEARCH, WEB_FETCH });
  const names = [of(false, false), of(true, false), of(false, true), of(true, true)].map((all) =>
    all.map(({ name }) => name),
  );
  expect(names).toEqual([[], ['web_search'], ['web_fetch'], ['web_search', 'web_fetch']]);
  for (const tool of of(true, true))
    expect(tool).toMatchObject({ max_uses: expect.any(Number), allowed_callers: ['direct'] });
});

test('each cited page is listed once, in the order of the citations', () => {
  const content = [
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
    said(found('https://example.org/a'), found('https://example.org/b', 'B')),
    { type: 'text', text: 'no citations', citations: null },
    said(found('https://example.org/a', 'again'), found('http://example.com/c', null)),
  ];
  expect(sourcesOf(content)).toEqual([
    { title: 'A page', url: 'https://example.org/a' },
    { title: 'B', url: 'https://example.org/b' },
    { title: 'example.com', url: 'http://example.com/c' },
  ]);
});

test('a citation of a fetched page has the address that was fetched', () => {
  const page = { type: 'document', title: 'The page', source: { type: 'text', media_type: 'text/plain', data: 'x' } };
  const content = [
    {
      type: 'web_fetch_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: { type: 'web_fetch_result', url: 'https://example.org/page', content: page },
    },
    { type: 'web_fetch_tool_result', tool_use_id: 'srvtoolu_2', content: { type: 'web_fetch_tool_result_error' } },
    said(
      { type: 'char_location', document_index: 0, document_title: 'The page', cited_text: 'x' },
      { type: 'page_location', document_index: 1, document_title: "The user's file", cited_text: 'y' },
      { type: 'search_result_location', source: 'https://example.org/kb', title: 'KB' },
    ),
  ];
  expect(sourcesOf(content)).toEqual([
    { title: 'The page', url: 'https://example.org/page' },
    { title: 'KB', url: 'https://example.org/kb' },
  ]);
});

test('an address that is not a plain web address is not a source', () => {
  const texts = 'javascript:alert(1) data:text/html,x tg://user?id=1 https://user:password@example.org example.org';
  const long = [`https://example.org/${'a'.repeat(600)}`, `https://example.org/${'('.repeat(400)}`];
  const addresses = [...texts.split(' '), '', 7, null, ...long];
  expect(sourcesOf([said(...addresses.map((address) => found(address)))])).toEqual([]);
  expect(withSources('Text', [{ title: 'x', url: 'javascript:alert(1)' }])).toBe('Text');
});

test('a title or an address cannot add markup', () => {
  const sources = sourcesOf([
    said(
      found('https://example.org/a_(b)?q="><b>', '[Click](https://evil.example) <b>*now*</b>\n- `x`\u202e'),
      found('https://example.org/c\n)[x](https://evil.example)', 'C'),
    ),
  ]);
  const text = withSources('So it is.\n', sources);
  expect(text).toBe(
    [
      'So it is.',
      '',
      'Sources:',
      '- Click evil.example b now /b - x: https://example.org/a_%28b%29?q=%22%3E%3Cb%3E',
      '- C: https://example.org/c%29[x]%28https://evil.example%29',
    ].join('\n'),
  );
});

test('a text without sources stays unchanged, and at most 8 sources are listed', () => {
  expect(withSources('So it is. \n', [])).toBe('So it is. \n');
  const many = Array.from({ length: 50 }, (_, at) => found(`https://example.org/${at}`, 'x'.repeat(500)));
  const sources = sourcesOf([said(...many)]);
  expect(sources).toHaveLength(8);
  expect(withSources('a', sources).length).toBeLessThan(1_200);
});

test('sourcesOf never throws, and every source line is well-formed and safe to show', () => {
  const loose = fc.oneof(rawTexts(), fc.webUrl(), fc.jsonValue());
  const citation = fc.record(
    { type: loose, url: loose, source: loose, title: loose, document_title: loose },
    { requiredKeys: [] },
  );
  const block = fc.record({
    type: fc.constantFrom('text', 'web_fetch_tool_result', 'other'),
    citations: fc.oneof(fc.array(fc.oneof(citation, fc.jsonValue()), { maxLength: 5 }), fc.jsonValue()),
    content: fc.oneof(fc.jsonValue(), fc.record({ url: loose, content: fc.record({ title: loose }) })),
  });
  forCases(500, [fc.array(block, { maxLength: 5 })], (content) => {
    const shown = withSources('text', sourcesOf(content));
    expect(shown.isWellFormed()).toBe(true);
    for (const line of shown.split('\n').slice(3)) expect(line).toMatch(/^- [^[\]()<>\n]+: https?:\/\/[^()<>"'\s]+$/);
  });
});
