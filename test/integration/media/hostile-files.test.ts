import { expect } from '@jest/globals';
import sharp from 'sharp';
import { fitPicture } from '../../../worker/media/decoding.ts';
import { CHAT, eachInWorld, world } from '../../fixture/each-test.ts';
import { flat, HOSTILE_FILES } from '../../fixture/hostile-files.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { limitMemory } from '../../fixture/memory-limit.ts';
import { spawnGateway } from '../../fixture/process.ts';
import { deepTest, variants } from '../../fixture/variants.ts';

const STRANGER = CHAT + 1;
const LIMIT_MB = 512;
const BYSTANDER_MS = 5_000;
/** Two tries of ten seconds each, on a machine that does something else too. */
const REFUSAL_MS = 45_000;

eachInWorld();

/** Sends a file, and waits until the gateway has begun to fetch it. */
async function sendFrom(chat: number, name: string, bytes: Buffer): Promise<void> {
  const id = world.telegram.addFile(bytes, `documents/${name}`);
  const document = { file_id: id, file_unique_id: id, file_name: name, file_size: bytes.length };
  world.telegram.say(chat, '', { extra: { document } });
  await world.telegram.waitForCall(({ method, params }) => /^getfile$/i.test(method) && params.file_id === id);
}

const NAMES = Object.keys(HOSTILE_FILES);

variants([
  ['one of each kind', NAMES.slice(0, 4)],
  ['the others', NAMES.slice(4)],
] as const)(
  'under 512 MB no file harms anybody but its sender (%s): one gateway, never restarted, and a bystander is answered',
  async (_, files) => {
    const memory = limitMemory(LIMIT_MB);
    const gateway = await spawnGateway(world, { MAX_ATTEMPTS: '3' });
    memory.hold(gateway.pid);
    const waitedMs: number[] = [];
    for (const [at, name] of files.entries()) {
      await sendFrom(STRANGER, name, (await HOSTILE_FILES[name]?.()) ?? Buffer.alloc(0));
      const saidMs = performance.now();
      world.telegram.say(CHAT, `How are you? (${name})`);
      expect(await nextOutcome(world, CHAT, at + 1)).toMatchObject({ outcome: 'answered' });
      waitedMs.push(performance.now() - saidMs);
      expect(['answered', 'refused']).toContain((await nextOutcome(world, STRANGER, at + 1, REFUSAL_MS)).outcome);
    }
    expect(Math.max(...waitedMs)).toBeLessThan(BYSTANDER_MS);
    expect(world.telegram.shown(STRANGER)).toHaveLength(files.length);
    expect(memory.peakBytes()).toBeLessThanOrEqual(LIMIT_MB * 1024 * 1024);
    // It is the process that was started.
    await gateway.stop();
    expect(await gateway.ended).toBe('0');
    await memory.end();
  },
  300_000,
);

deepTest('the dearest pictures that are let in are read within the limits of a decoder', async () => {
  const glass = {
    create: { width: 2_770, height: 3_000, channels: 4, background: { r: 9, g: 80, b: 9, alpha: 0.4 } },
  } as const;
  const dearest = {
    'AVIF of 12 megapixels, as phones take them': flat(4_032, 3_024, 'avif', { chromaSubsampling: '4:4:4' }),
    'AVIF of 12 bits with transparency': sharp(glass).avif({ effort: 0, bitdepth: 12 }).toBuffer(),
    'GIF of 40 megapixels': flat(8_000, 5_000, 'gif'),
    'interlaced PNG of 66 megapixels': flat(13_300, 5_000, 'png', { progressive: true, compressionLevel: 1 }),
    'JPEG of 108 megapixels, as phones take them': flat(12_000, 9_000, 'jpeg'),
  };
  for (const [name, bytes] of Object.entries(dearest))
    expect([name, (await fitPicture(await bytes)).ok]).toEqual([name, true]);
});
