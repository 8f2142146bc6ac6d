import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { CONTENT_LIMITS, toolOutput, wordsOf } from '../../../../../worker/features/mcp/content.ts';
import { PNG } from '../../../../fixture/mcp-tools.ts';
import { cpuMs, forCases, LINEAR_MS_MAX, rawTexts } from '../../../../fixture/texts.ts';

const SMALL = { textCharsMax: 50, itemsMax: 3 };

function textsOf(content: unknown, limits = CONTENT_LIMITS): string[] {
  return toolOutput({ content }, limits).parts.map((part) => (part.type === 'text' ? part.text : '[image]'));
}

const item = (text: unknown) => ({ type: 'text', text });
const image = (data: unknown) => ({ type: 'image', data, mimeType: 'image/png' });
const resource = (of: object) => ({ type: 'resource', resource: of });
const ZIP = Buffer.alloc(1000).toString('base64');
const UNSHOWN = '[content that cannot be shown]';

test.each<[string, unknown[], string[]]>([
  ['texts lose NUL and lone surrogates', [item('one'), item('a\0b\ud800c')], ['one', 'ab\ufffdc']],
  ['empty texts are dropped', [item(''), item('\0')], []],
  ['what is unknown becomes a text', [{ type: 'hologram' }, { type: 'text' }, 7], [UNSHOWN, UNSHOWN, UNSHOWN]],
  ['an image without bytes is named', [image('')], ['[image without content]']],
  ...['****', 'AAA*', 'A', 'AA=A', 'AAAA====', 'data:image/png;base64,AAAA', '\ud800'].map(
    (data): [string, unknown[], string[]] => ['an image that is no base64 is named', [image(data)], [UNSHOWN]],
  ),
  [
    'binary resources are named with kind, type and size',
    [resource({ uri: 'file:///a.bin', blob: ZIP, mimeType: 'application/zip' }), resource({ uri: 'b:', blob: ZIP })],
    ['[resource file:///a.bin, application/zip, 1000 bytes]', '[resource b:, of an unknown type, 1000 bytes]'],
  ],
  [
    'a text resource is shown with its address, and a link as one line',
    [resource({ uri: 'file:///a.txt', text: 'inside' }), { type: 'resource_link', uri: 'file:///b.txt', name: 'b\nc' }],
    ['[resource file:///a.txt]\ninside', '[resource b c: file:///b.txt]'],
  ],
  ...[`iVBORw0KGgo${'A'.repeat(50)}`, 'f'.repeat(2_000), '/9j/ is how a JPEG begins'].map(
    (text): [string, unknown[], string[]] => ['a text that is no picture stays', [item(text)], [text]],
  ),
])('of content %s: %j', (_, content, texts) => {
  expect(textsOf(content)).toEqual(texts);
});

test.each([
  [{}, false],
  [{ content: [] }, false],
  [{ content: [], isError: true }, true],
  ...[{ content: null }, { content: 'x' }, { content: [], isError: 'true' }, null, 7, [], undefined].map(
    (answer) => [answer, true] as const,
  ),
])('the answer %j has no parts of its own, and that it is an error is %s', (answer, isError) => {
  expect(toolOutput(answer)).toMatchObject(isError ? { isError } : { parts: [], isError });
});

test('images are decoded, also from base64 with line breaks or without padding, and audio keeps its type', () => {
  const bytes = Buffer.from(PNG, 'base64');
  for (const data of [PNG, PNG.replaceAll(/(.{20})/g, '$1\r\n'), PNG.replace(/=+$/, '')])
    expect(toolOutput({ content: [image(data)] }).parts).toEqual([{ type: 'image', bytes }]);
  const sound = { type: 'audio', data: PNG, mimeType: 'audio/mpeg' };
  expect(toolOutput({ content: [sound] }).parts).toEqual([{ type: 'audio', bytes, mimeType: 'audio/mpeg' }]);
});

test('structuredContent is taken only where there is no text, which says the same by contract', () => {
  const structuredContent = { degrees: 21, words: 'a "quoted"\nline ü' };
  const json = JSON.stringify(structuredContent);
  const told = (content: unknown) =>
    toolOutput({ content, structuredContent }).parts.map((part) => (part.type === 'text' ? part.text : '[image]'));
  expect(told([])).toEqual([json]);
  expect(told(undefined)).toEqual([json]);
  expect(told([image(PNG)])).toEqual(['[image]', json]);
  expect(told([item('warm')])).toEqual(['warm']);
});

test('a picture is never shown as base64 text', () => {
  const data = Buffer.concat([Buffer.from(PNG, 'base64'), Buffer.alloc(3_000, 7)]).toString('base64');
  const { parts } = toolOutput({ content: [image(data)], structuredContent: { content: [image(data)] } });
  expect(parts.map(({ type }) => type)).toEqual(['image', 'text']);
  expect(wordsOf({ parts, isError: false })).not.toContain(data);
  for (const head of ['iVBORw0KGgo', '/9j/', '\\/9j\\/', 'R0lGOD', 'UklGR']) {
    const picture = `${head}${'Aa0+/'.repeat(100)}==`;
    const shown = textsOf([item(`{"data":"${picture}","more":"${picture}"}`)])[0];
    expect(shown).toMatch(/^\{"data":"\[a picture in base64, 5\d\d characters\]","more":".*"\}$/);
    expect(shown).not.toContain('Aa0+/Aa0+/');
  }
  const large = `iVBORw0KGgo${'A'.repeat(20_000_000)}`;
  expect(textsOf([item(`${large} end`)], { textCharsMax: 30_000_000, itemsMax: 1 })).toEqual([
    '[a picture in base64, 20000011 characters] end',
  ]);
  const only = toolOutput({ content: [], structuredContent: { data } });
  expect(only.parts).toEqual([{ type: 'text', text: `{"data":"[a picture in base64, ${data.length} characters]"}` }]);
});

test('does not throw on an answer that is nested 200,000 levels deep', () => {
  const deep = JSON.parse(`${'['.repeat(200_000)}${']'.repeat(200_000)}`);
  expect(toolOutput({ structuredContent: { deep } }).parts).toHaveLength(1);
  expect(textsOf([deep, item(deep), { type: 'resource', resource: deep }])).toHaveLength(3);
});

test('all texts share one limit, the cut states how long the whole was, and pieces beyond itemsMax are counted', () => {
  const xs = (chars: number) => 'x'.repeat(chars);
  const cut = '\n[… cut: the whole text had 90 characters …]';
  expect(textsOf([item(xs(25)), item(xs(25))], SMALL)).toEqual([xs(25), xs(25)]);
  expect(textsOf([item(xs(30)), item(xs(40)), item(xs(20))], SMALL)).toEqual([xs(30), `${xs(20)}${cut}`]);
  expect(textsOf([item(xs(50)), item(xs(40))], SMALL)).toEqual([`${xs(50)}${cut}`]);
  // A picture behind the cut stays.
  expect(textsOf([item(xs(60)), item(xs(60)), image(PNG)], SMALL).map((text) => text[0])).toEqual(['x', '[']);
  expect(textsOf([...Array(4).fill(image(PNG)), item(xs(60))], SMALL)).toEqual([
    ...Array(3).fill('[image]'),
    '[… 2 more pieces of content left out …]',
  ]);
});

test('toolOutput never throws, and turns any JSON into parts that the API accepts', () => {
  const texts = fc.oneof(rawTexts(), fc.base64String());
  const loose = fc.oneof(texts, fc.jsonValue());
  const piece = fc.record(
    {
      type: fc.oneof(fc.constantFrom('text', 'image', 'audio', 'resource', 'resource_link'), fc.jsonValue()),
      text: loose,
      data: loose,
      mimeType: loose,
      uri: loose,
      name: loose,
      resource: fc.oneof(fc.jsonValue(), fc.record({ uri: loose, text: loose, blob: loose }, { requiredKeys: [] })),
    },
    { requiredKeys: [] },
  );
  const answer = fc.record(
    {
      content: fc.oneof(fc.array(fc.oneof(piece, fc.jsonValue()), { maxLength: 6 }), fc.jsonValue()),
      isError: fc.oneof(fc.boolean(), fc.jsonValue()),
      structuredContent: fc.jsonValue(),
    },
    { requiredKeys: [] },
  );
  forCases(1_000, [fc.oneof(answer, fc.jsonValue())], (json) => {
    const output = toolOutput(json, { ...SMALL, textCharsMax: 200 });
    expect(typeof output.isError).toBe('boolean');
    for (const part of output.parts) {
      if (part.type !== 'text') expect(part.bytes.length).toBeGreaterThan(0);
      else {
        expect(part.text).not.toBe('');
        expect(part.text.isWellFormed() && !part.text.includes('\0')).toBe(true);
      }
    }
    expect(wordsOf(output).length).toBeLessThan(400);
  });
});

test('toolOutput takes linear time on answers of 6 MB', () => {
  const began = cpuMs();
  for (const unit of ['x', '\u0301', '\ud800', '\0', 'क्', ' ', '👩‍']) {
    textsOf([item(unit.repeat(6_000_000 / unit.length))]);
    textsOf([{ type: 'image', data: unit.repeat(6_000_000 / unit.length), mimeType: unit.repeat(100_000) }]);
  }
  for (const text of ['iVBORw0KGgo', `iVBORw0KGgo${'A'.repeat(150)} `, '/9j/', `UklGR${'A'.repeat(6_000)}`]) {
    textsOf([item(text.repeat(6_000_000 / text.length))]);
  }
  expect(cpuMs() - began).toBeLessThan(LINEAR_MS_MAX);
});
