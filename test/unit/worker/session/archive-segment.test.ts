import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { packSegment, unpackSegment } from '../../../../worker/session/archive.ts';
import { encodeRecord } from '../../../../worker/session/record.ts';
import { records } from '../../../fixture/records.ts';
import { forAllAsync, SEEDED } from '../../../fixture/texts.ts';

const lines = fc.array(
  fc.oneof(
    records.map((record) => Buffer.from(encodeRecord(record))),
    fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes.filter((byte) => byte !== 0x0a))),
  ),
  { minLength: 1, maxLength: 8 },
);

test('a segment with a changed byte or a missing end is refused or reads as it was, never as something else', async () => {
  let refused = 0;
  await forAllAsync([lines, fc.nat(), fc.integer({ min: 1, max: 255 })], async (original, at, mask) => {
    const segment = await packSegment(original);
    const place = at % segment.length;
    const changed = Buffer.from(segment);
    changed.writeUInt8(changed.readUInt8(place) ^ mask, place);
    for (const damaged of [changed, segment.subarray(0, place)]) {
      const read = await unpackSegment(damaged).catch(() => undefined);
      if (read === undefined) refused += 1;
      else expect(read.map(hexOf)).toEqual(original.map(hexOf));
    }
  });
  expect(refused).toBeGreaterThan(SEEDED.numRuns * 1.8);
});

test('packSegment compresses chat text to less than a fifth of its size', async () => {
  const packed = Array.from({ length: 500 }, (_, n) =>
    Buffer.from(`{"v":1,"t":"user","content":"Question ${n} again"}`),
  );
  expect((await packSegment(packed)).length).toBeLessThan(Buffer.concat(packed).length / 5);
});

function hexOf(line: Buffer): string {
  return line.toString('hex');
}
