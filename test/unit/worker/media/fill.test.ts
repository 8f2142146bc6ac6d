import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { fill, keptIn } from '../../../../worker/media/fill.ts';
import type { Block } from '../../../../worker/model/block.ts';
import type { MessageParam } from '../../../../worker/model/port.ts';
import { image, marked, png, result, text } from '../../../fixture/content-blocks.ts';
import { forAll } from '../../../fixture/texts.ts';

const A = 'a'.repeat(64);
const B = 'b'.repeat(64);
const LOADED: ReadonlyMap<string, Buffer> = new Map([[A, Buffer.from('bytes of a')]]);

const picture = (sha256: unknown = A): Block => ({
  type: 'image',
  source: { type: 'kept', sha256, media_type: 'image/jpeg', bytes: 48 * 1024, width: 9, height: 9 },
});
const report = (sha256: string, more: object): Block => ({
  type: 'document',
  source: { type: 'kept', sha256, media_type: 'application/pdf', bytes: 300_000, pages: 12 },
  title: 'report.pdf',
  ...more,
});
const said = (role: 'user' | 'assistant', ...content: unknown[]) => ({ role, content }) as unknown as MessageParam;
const contentOf = (message: MessageParam | undefined) => message?.content as unknown as Block[];

test('references of a user become sources, also in a result, without an internal field; what is gone is named', () => {
  const found = result('toolu_1', [text('found'), picture(A), picture(B), null]);
  const all = [said('user', report(B, marked), found, report(A, marked)), said('assistant', picture(A))];
  expect(keptIn([...all, { role: 'user', content: 'x' }])).toEqual([B, A]);
  const base64 = { type: 'base64', data: Buffer.from('bytes of a').toString('base64') };
  const filled = [text('found'), { type: 'image', source: { ...base64, media_type: 'image/jpeg' } }];
  expect(contentOf(fill(all, LOADED)[0])).toEqual([
    text('[document report.pdf, 12 pages, 293 KB: no longer stored]', marked),
    { ...found, content: [...filled, text('[image/jpeg, 48 KB: no longer stored]'), null] },
    { type: 'document', title: 'report.pdf', source: { ...base64, media_type: 'application/pdf' }, ...marked },
  ]);
});

test('an invalid reference is replaced by a text and not sent', () => {
  for (const id of [5, null, {}, '', 'toString', '__proto__']) {
    const message = said('user', picture(id));
    expect(keptIn([message])).toEqual(typeof id === 'string' ? [id] : []);
    expect(contentOf(fill([message], LOADED)[0])).toEqual([text('[image/jpeg, 48 KB: no longer stored]')]);
  }
  const bare = said('user', { type: 'image', source: { type: 'kept' } });
  expect(contentOf(fill([bare], LOADED)[0])).toEqual([text('[image: no longer stored]')]);
});

test('messages without references, and blocks beside one, are returned as the same objects', () => {
  const plain = said('user', text('a'), image(png(9, 9)), result('toolu_1', [image(png(9, 9))]), { type: 'image' });
  const mixed = said('user', text('b'), result('toolu_2'), picture());
  const before = JSON.stringify([plain, mixed]);
  const filled = fill([plain, mixed, said('assistant', picture())], LOADED);
  expect(filled[0]).toBe(plain);
  expect(contentOf(filled[1])?.[0]).toBe(contentOf(mixed)[0]);
  expect(contentOf(filled[1])?.[1]).toBe(contentOf(mixed)[1]);
  expect(JSON.stringify([plain, mixed])).toBe(before);
});

test('fill keeps every block in its place and leaves no reference', () => {
  const sources = fc.oneof(
    fc.record({ type: fc.constant('kept'), sha256: fc.constantFrom(A, B), media_type: fc.constant('image/png') }),
    fc.record({ type: fc.constant('base64'), data: fc.string() }),
    fc.constantFrom(null, undefined, 'x'),
  );
  const leaves = fc.oneof(
    fc.record({ type: fc.constantFrom('image', 'document'), source: sources }, { noNullPrototype: true }),
    fc.string().map((each) => text(each)),
  );
  const results = fc.array(leaves, { maxLength: 4 }).map((content) => result('toolu_1', content));
  const messages = fc
    .tuple(fc.constantFrom('user' as const, 'assistant' as const), fc.array(fc.oneof(leaves, results)))
    .map(([role, content]) => said(role, ...content));
  forAll([fc.array(messages), fc.boolean()], (all, isStored) => {
    const loaded = isStored ? new Map([...LOADED, [B, Buffer.from('b')]]) : new Map<string, Buffer>();
    const filled = fill(all, loaded);
    expect(keptIn(filled)).toEqual([]);
    expect(filled.map(shapeOf)).toEqual(all.map(shapeOf));
    for (const [at, message] of all.entries()) {
      if (keptIn([message]).length === 0) expect(filled[at]).toBe(message);
    }
  });
});

/** How many blocks stand where. */
function shapeOf(message: MessageParam): unknown {
  return [message.role, contentOf(message).map((block) => (Array.isArray(block.content) ? block.content.length : 0))];
}
