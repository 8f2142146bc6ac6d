import { join, resolve } from 'node:path';
import { PROJECT_ROOT } from '../../../shared/base/project.ts';
import { findRedis, Refusal, runTool, say } from '../tool.ts';
import { SCENES } from './catalogue.ts';
import { listedTexts } from './texts.ts';
import { transcribe } from './transcribe.ts';

const HELP = `Usage: npm run transcript [-- options]

Plays conversations through the real gateway, with stand-ins of Telegram and Claude, and writes one page of HTML that shows
what a user sees. Needs no key.

  --out FILE    default: .cache/transcript.html
  --only TEXT   only scenes whose name contains it
  --texts       plays nothing, and prints every sentence that people can read, with its occasion

Exit codes: 0 all scenes were as expected, 1 one was not (the page says which), 2 a mistake in the call.`;

const OPTIONS = {
  out: { type: 'string' },
  only: { type: 'string', default: '' },
  texts: { type: 'boolean', default: false },
} as const;

await runTool(HELP, OPTIONS, async ({ out, only, texts }) => {
  if (texts) return [...listedTexts()].forEach(say);
  const scenes = SCENES.filter(({ name }) => name.includes(only));
  if (scenes.length === 0)
    throw new Refusal(`No scene is called like ${only}. The scenes are: ${SCENES.map(({ name }) => name).join(', ')}.`);
  await findRedis();
  const file = out === undefined ? join(PROJECT_ROOT, '.cache', 'transcript.html') : resolve(out);
  process.exitCode = (await transcribe(scenes, file, say)) ? 0 : 1;
});
