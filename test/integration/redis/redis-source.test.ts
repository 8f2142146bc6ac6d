import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { provideRedis, type RedisSourceOptions } from '../../../shared/app/find-redis.ts';
import { isRunning } from '../../../shared/base/machine.ts';
import { cleanUps, ownFolder } from '../../fixture/clean-ups.ts';
import { searchPath } from '../../fixture/environment.ts';
import { gone, killAtEnd, withClient } from '../../fixture/private-redis.ts';

const root = join(import.meta.dirname, '..', '..', '..');

test('a provided server that dies is restarted on its socket with its data, until it is stopped', async () => {
  const dir = await ownFolder();
  const told: string[] = [];
  const source = await provideRedis({ ...provision(dir), onProgress: (line) => told.push(line) });
  if (!source.ok) throw new Error(source.problem);
  cleanUps.push(() => source.stop());
  const killed = await pidAt(source.url);
  killAtEnd(killed);
  const value = await withClient(source.url, async (client) => {
    await client.set('chat', 'remembered');
    process.kill(killed, 'SIGKILL');
    await gone(killed);
    return client.get('chat');
  });
  expect(value).toBe('remembered');
  const revived = await pidAt(source.url);
  killAtEnd(revived);
  // The server answers before its supervisor has heard that it is up.
  while (told.length < 2) await pause(5);
  expect(told).toEqual([expect.stringContaining('has ended'), expect.stringContaining(`up again at ${source.url}`)]);
  await source.stop();
  expect(isRunning(revived)).toBe(false);
});

test('two sources that share a server have one address, at which the killed server comes back', async () => {
  const dir = await ownFolder();
  const sources = [await provideRedis(provision(dir)), await provideRedis(provision(dir))];
  const urls = sources.map((source) => (source.ok ? source.url : source.problem));
  cleanUps.push(async () => {
    for (const source of sources) if (source.ok) await source.stop();
  });
  const [url = ''] = urls;
  expect(urls).toEqual([url, url]);
  const killed = await pidAt(url);
  process.kill(killed, 'SIGKILL');
  await gone(killed);
  const revived = await pidAt(url);
  killAtEnd(revived);
  // Each has its own connection again: the first stop leaves the server to the other, whichever of them owns it.
  await withClient(url, async (client) => {
    while (
      String(await client.client('LIST'))
        .trim()
        .split('\n').length < 2
    )
      await pause(5);
  });
  for (const source of sources) if (source.ok) await source.stop();
});

function provision(dir: string): RedisSourceOptions {
  return { root, path: searchPath(), dir, fsync: 'everysec' };
}

async function pidAt(url: string): Promise<number> {
  return withClient(url, async (client) => Number(/process_id:(\d+)/.exec(await client.info('server'))?.[1]));
}
