import { join } from 'node:path';
import { findRedisServer } from '../../shared/private-redis/install.ts';

/** Runs once before all suites: the workers get the server that was found, so that none of them has to look. */
export default async function setUpRedis(): Promise<void> {
  const found = await findRedisServer({
    root: join(import.meta.dirname, '..', '..'),
    path: process.env.PATH ?? '',
    onProgress: (line) => process.stderr.write(`${line}\n`),
  });
  if (!found.ok) throw new Error(found.problem);
  process.env.SPILLWAY_REDIS_SERVER = JSON.stringify(found);
}
