import { expect, test } from '@jest/globals';
import type { Block } from '../../../../worker/model/block.ts';
import * as parts from '../../../../worker/recovery/parts.ts';
import { call, result, text } from '../../../fixture/content-blocks.ts';
import { assistantSays, userSays } from '../../../fixture/records.ts';

const PICTURE = { type: 'image', source: { type: 'kept', sha256: 'aa', media_type: 'image/png', bytes: 48 * 1024 } };
const SHOWN = '[image/png, 48 KB; the tool "recall" shows it with {"ref":"aa"}, left out]';
test.each<[string, Block, string, number, object?]>([
  ['text', text('é'), 'é', 27],
  ['result', result('t', [text('é'), PICTURE]), `é\n(image left out)\n${SHOWN}`, 27 + 65_536],
  ['picture', PICTURE, SHOWN, 65_536],
  ['named', { type: 'document', title: 'a.pdf' }, '[document a.pdf, left out]', 35, { title: 'a.pdf' }],
  ['file', { type: 'document' }, '[document, left out]', 19],
])('a notice calls it %s, and the model reads what is left', (name, block, replacement, bytes, more = {}) => {
  const record = userSays([structuredClone(block)]);
  const found = parts.placesIn(record).map((place) => parts.partOf(place, parts.replacementFor(place.block, 100)));
  expect(found).toStrictEqual([{ record, block: 0, bytes, replacement, name, ...more }]);
  expect(parts.bytesOf([record, record])).toBe(2 * bytes);
});

const LOG = [
  userSays([result('t0', 'x'.repeat(90_000))]),
  userSays('x'.repeat(30_000)),
  userSays([text('x'.repeat(20_000)), text('x'.repeat(8_192 - 25)), PICTURE]),
  userSays([result('t1', 'x'.repeat(25_000)), result('t2', [text('x'.repeat(9_000)), PICTURE]), text('and')]),
  assistantSays([PICTURE, text('x'.repeat(50_000)), call('t3', { input: 'x'.repeat(9_000) }), text('ж'.repeat(8_000))]),
];
test.each<[string, () => parts.Part[], string]>([
  ['the largest of users, newest turn first', () => parts.largestParts(LOG, 1e9), '3,1 2,2 3,0 2,0 1 0,0'],
  ['only what makes up for the excess', () => parts.largestParts(LOG, 72_482), '3,1'],
  ['more for a larger excess', () => parts.largestParts(LOG, 72_483), '3,1 2,2'],
  ['long texts of either side, without files', () => parts.longTexts(LOG, 8_192), '0,0 1 2,0 3,0 4,1'],
  [
    'newest results',
    () => parts.newestResults(LOG).filter(({ replacement }) => /do not make/.test(replacement)),
    '3,0 3,1',
  ],
  ['media of users and tools', () => parts.mediaParts(LOG), '2,2 3,1'],
])('parts are chosen by record and block: %s', (_, choose, places) => {
  const chosen = choose().map(({ record, ...part }) => [LOG.indexOf(record), ...('block' in part ? [part.block] : [])]);
  expect(chosen.join(' ')).toBe(places);
});
