import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { CONTENT_LIMITS, toolOutput, wordsOf } from '../../../../../worker/features/mcp/content.ts';
import { PNG } from '../../../../fixture/mcp-tools.ts';
import { cpuMs, graphemeTexts, LINEAR_MS_MAX, rawTexts, SEEDED } from '../../../../fixture/texts.ts';

const SMALL = { textCharsMax: 50, itemsMax: 3 };

function textsOf(content: unknown, limits = CONTENT_LIMITS): string[] {
  return toolOutput({ content }, limits).parts.map((part) => (part.type === 'text' ? part.text : '[image]'));
}

test('keeps texts without NUL and lone surrogates, and drops empty texts', () => {
  expect(
    textsOf([
      { type: 'text', text: 'one' },
      { type: 'text', text: 'a\0b\ud800c' },
    ]),
  ).toEqual(['one', 'ab\ufffdc']);
  expect(
    textsOf([
      { type: 'text', text: '' },
      { type: 'text', text: '\0' },
    ]),
  ).toEqual([]);
});

test('an empty answer has no parts, and one that breaks the protocol is an error', () => {
  for (const answer of [{}, { content: [] }]) expect(toolOutput(answer)).toEqual({ parts: [], isError: false });
  for (const answer of [
    { content: null },
    { content: 'x' },
    { content: [], isError: 'true' },
    null,
    7,
    [],
    undefined,
  ]) {
    expect(toolOutput(answer)).toMatchObject({ isError: true });
  }
  expect(toolOutput({ content: [], isError: true }).isError).toBe(true);
});

test('decodes an image, also from base64 with line breaks or without padding', () => {
  const bytes = Buffer.from(PNG, 'base64');
  for (const data of [PNG, PNG.replaceAll(/(.{20})/g, '$1\r\n'), PNG.replace(/=+$/, '')]) {
    const { parts } = toolOutput({ content: [{ type: 'image', data, mimeType: 'image/png' }] });
    expect(parts).toEqual([{ type: 'image', bytes }]);
  }
});

test('an image that is not valid base64, or without bytes, is named', () => {
  for (const data of ['****', 'AAA*', 'A', 'AA=A', 'AAAA====', 'data:image/png;base64,AAAA', '\ud800']) {
    expect(textsOf([{ type: 'image', data, mimeType: 'image/png' }])).toEqual(['[content that cannot be shown]']);
  }
  expect(textsOf([{ type: 'image', data: '', mimeType: 'image/png' }])).toEqual(['[image without content]']);
});

test('audio stays audio with its type', () => {
  const bytes = Buffer.alloc(90, 1);
  const content = [{ type: 'audio', data: bytes.toString('base64'), mimeType: 'audio/mpeg' }];
  expect(toolOutput({ content }).parts).toEqual([{ type: 'audio', bytes, mimeType: 'audio/mpeg' }]);
});

test('binary resources become a text with kind, type and size', () => {
  const data = Buffer.alloc(1000).toString('base64');
  expect(
    textsOf([
      { type: 'resource', resource: { uri: 'file:///a.bin', blob: data, mimeType: 'application/zip' } },
      { type: 'resource', resource: { uri: 'file:///b', blob: data } },
    ]),
  ).toEqual([
    '[resource file:///a.bin, application/zip, 1000 bytes]',
    '[resource file:///b, of an unknown type, 1000 bytes]',
  ]);
});

test('a text resource is shown with its address, and a resource link as one line', () => {
  expect(
    textsOf([
      { type: 'resource', resource: { uri: 'file:///a.txt', text: 'inside' } },
      { type: 'resource_link', uri: 'file:///b.txt', name: 'b\nc' },
    ]),
  ).toEqual(['[resource file:///a.txt]\ninside', '[resource b c: file:///b.txt]']);
});

test('unknown content becomes a text', () => {
  expect(textsOf([{ type: 'hologram' }, { type: 'text' }, 7])).toEqual(Array(3).fill('[content that cannot be shown]'));
});

test('structuredContent is taken only where there is no text, which says the same by contract', () => {
  const structuredContent = { degrees: 21, words: 'a "quoted"\nline ü' };
  const json = JSON.stringify(structuredContent);
  const told = (content: unknown) =>
    toolOutput({ content, structuredContent }).parts.map((part) => (part.type === 'text' ? part.text : '[image]'));
  expect(told([])).toEqual([json]);
  expect(told(undefined)).toEqual([json]);
  expect(told([{ type: 'image', data: PNG, mimeType: 'image/png' }])).toEqual(['[image]', json]);
  expect(told([{ type: 'text', text: 'warm' }])).toEqual(['warm']);
});

test('a picture is never shown as base64 text', () => {
  const data = Buffer.concat([Buffer.from(PNG, 'base64'), Buffer.alloc(3_000, 7)]).toString('base64');
  const image = { type: 'image', data, mimeType: 'image/png' };
  const { parts } = toolOutput({ content: [image], structuredContent: { content: [image] } });
  expect(parts.map(({ type }) => type)).toEqual(['image', 'text']);
  expect(wordsOf({ parts, isError: false })).not.toContain(data);
  for (const head of ['iVBORw0KGgo', '/9j/', '\\/9j\\/', 'R0lGOD', 'UklGR']) {
    const picture = `${head}${'Aa0+/'.repeat(100)}==`;
    const shown = textsOf([{ type: 'text', text: `{"data":"${picture}","more":"${picture}"}` }])[0];
    expect(shown).toMatch(/^\{"data":"\[a picture in base64, 5\d\d characters\]","more":".*"\}$/);
    expect(shown).not.toContain('Aa0+/Aa0+/');
  }
  const only = toolOutput({ content: [], structuredContent: { data } });
  expect(only.parts).toEqual([{ type: 'text', text: `{"data":"[a picture in base64, ${data.length} characters]"}` }]);
});

test('keeps text that is not a picture in base64: hashes, words and short signatures', () => {
  const texts = [`iVBORw0KGgo${'A'.repeat(50)}`, 'f'.repeat(2_000), '/9j/ is how a JPEG begins'];
  for (const text of texts) expect(textsOf([{ type: 'text', text }])).toEqual([text]);
});

test('does not throw on an answer that is nested 200,000 levels deep', () => {
  const deep = JSON.parse(`${'['.repeat(200_000)}${']'.repeat(200_000)}`);
  expect(toolOutput({ structuredContent: { deep } }).parts).toHaveLength(1);
  expect(textsOf([deep, { type: 'text', text: deep }, { type: 'resource', resource: deep }])).toHaveLength(3);
});

test('all texts share one limit, and the cut states how long the whole text was', () => {
  const text = (chars: number) => ({ type: 'text', text: 'x'.repeat(chars) });
  expect(textsOf([text(25), text(25)], SMALL)).toEqual(['x'.repeat(25), 'x'.repeat(25)]);
  const cut = '\n[… cut: the whole text had 90 characters …]';
  expect(textsOf([text(30), text(40), text(20)], SMALL)).toEqual(['x'.repeat(30), `${'x'.repeat(20)}${cut}`]);
  const exact = textsOf([text(50), text(40)], SMALL);
  expect(exact).toEqual([`${'x'.repeat(50)}${cut}`]);
});

test('a cut keeps the pictures after it, and pieces beyond itemsMax are counted', () => {
  const image = { type: 'image', data: PNG, mimeType: 'image/png' };
  const long = { type: 'text', text: 'x'.repeat(60) };
  expect(textsOf([long, long, image], SMALL).map((text) => text[0])).toEqual(['x', '[']);
  expect(textsOf([image, image, image, image, long], SMALL)).toEqual([
    '[image]',
    '[image]',
    '[image]',
    '[… 2 more pieces of content left out …]',
  ]);
});

test('the text limit holds for any characters, and the cut text is well-formed', () => {
  fc.assert(
    fc.property(fc.array(graphemeTexts(), { maxLength: 3 }), (texts) => {
      const output = toolOutput({ content: texts.map((text) => ({ type: 'text', text })) }, SMALL);
      const whole = texts.join('').length;
      const marker = `\n[… cut: the whole text had ${whole} characters …]`;
      const words = output.parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
      if (whole <= SMALL.textCharsMax) expect(words).toBe(texts.join(''));
      else {
        expect(words.endsWith(marker)).toBe(true);
        expect(words.length - marker.length).toBeLessThanOrEqual(SMALL.textCharsMax);
        expect(texts.join('').startsWith(words.slice(0, -marker.length))).toBe(true);
      }
      expect(words.isWellFormed()).toBe(true);
    }),
    SEEDED,
  );
});

test('toolOutput never throws, and turns any JSON into parts that the API accepts', () => {
  const texts = fc.oneof(rawTexts(), fc.base64String());
  const loose = fc.oneof(texts, fc.jsonValue());
  const item = fc.record(
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
      content: fc.oneof(fc.array(fc.oneof(item, fc.jsonValue()), { maxLength: 6 }), fc.jsonValue()),
      isError: fc.oneof(fc.boolean(), fc.jsonValue()),
      structuredContent: fc.jsonValue(),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.oneof(answer, fc.jsonValue()), (json) => {
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
    }),
    { ...SEEDED, numRuns: 1_000 },
  );
});

test('toolOutput takes linear time on answers of 6 MB', () => {
  const began = cpuMs();
  for (const unit of ['x', '\u0301', '\ud800', '\0', 'क्', ' ', '👩‍']) {
    textsOf([{ type: 'text', text: unit.repeat(6_000_000 / unit.length) }]);
    textsOf([{ type: 'image', data: unit.repeat(6_000_000 / unit.length), mimeType: unit.repeat(100_000) }]);
  }
  for (const text of ['iVBORw0KGgo', `iVBORw0KGgo${'A'.repeat(150)} `, '/9j/', `UklGR${'A'.repeat(6_000)}`]) {
    textsOf([{ type: 'text', text: text.repeat(6_000_000 / text.length) }]);
  }
  expect(cpuMs() - began).toBeLessThan(LINEAR_MS_MAX);
});
