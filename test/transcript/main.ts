import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { PROJECT_ROOT, refuse } from '../../shared/base/project.ts';
import { programPath } from '../../shared/base/settings.ts';
import { findRedisServer } from '../../shared/private-redis/install.ts';
import { offerRedisServer } from '../fixture/redis.ts';
import { SCENES } from './catalogue.ts';
import { transcribe } from './transcribe.ts';

const HELP = `Usage: npm run transcript [-- options]

Plays conversations through the real gateway, with stand-ins of Telegram and Claude, and writes one page of HTML that shows
what a user sees. Needs no key.

  --out FILE    default: .cache/transcript.html
  --only TEXT   only scenes whose name contains it

Exit codes: 0 all scenes were as expected, 1 one was not (the page says which), 2 a mistake in the call.`;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

try {
  const { values } = parseArgs({
    options: { help: { type: 'boolean' }, out: { type: 'string' }, only: { type: 'string' } },
  });
  if (values.help) say(HELP);
  else await begin(values.out, values.only ?? '');
} catch (error) {
  if (!(error instanceof TypeError)) throw error;
  refuse([error.message, HELP]);
}

async function begin(out: string | undefined, only: string): Promise<void> {
  const scenes = SCENES.filter(({ name }) => name.includes(only));
  if (scenes.length === 0)
    return refuse([`No scene is called like ${only}. The scenes are: ${SCENES.map(({ name }) => name).join(', ')}.`]);
  const server = await findRedisServer({ root: PROJECT_ROOT, path: programPath(), onProgress: say });
  if (!server.ok) return refuse([server.problem]);
  offerRedisServer(server);
  const file = out === undefined ? join(PROJECT_ROOT, '.cache', 'transcript.html') : resolve(out);
  const isAsExpected = await transcribe(scenes, file, say);
  process.exitCode = isAsExpected ? 0 : 1;
}
