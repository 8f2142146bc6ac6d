import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { PROJECT_ROOT } from '../../../shared/base/project.ts';
import { runCli } from '../../fixture/cli.ts';
import { eachWithNotebook, notebook } from '../../fixture/each-notebook.ts';
import { mainCalls, start, world } from '../../fixture/each-test.ts';
import { behindBwrap } from '../../fixture/means.ts';
import { callsTools, resultsIn, use } from '../../fixture/notebook.ts';
import { ask } from '../../fixture/whole-chat.ts';

eachWithNotebook();

/** What a tool says of each file, asked by a model that a hostile page has talked into it. */
async function readByTool(paths: readonly string[]): Promise<string[]> {
  world.claude.react(callsTools(paths.map((path, at) => use(`t${at}`, 'read', { path }))));
  expect(await ask('Summarise this page')).toMatchObject({ outcome: 'answered' });
  const last = mainCalls().at(-1);
  return (last ? resultsIn(last) : []).map(({ content }) => (content as { text: string }[])[0]?.text ?? '');
}

const secrets = () => [
  `/proc/${process.pid}/environ`,
  `/proc/${process.pid}/cwd/package.json`,
  notebook.env.MCP_CONFIG ?? '',
  join(PROJECT_ROOT, 'spillway.ts'),
];

behindBwrap('a tool server of a gateway reads neither its process, nor the settings, nor the project', async () => {
  await start();
  const kept = join(world.blobFolder, 'kept');
  await writeFile(kept, 'what was said');
  const read = await readByTool([...secrets(), kept]);
  for (const [at, said] of read.entries())
    expect([at, said]).toEqual([at, expect.stringMatching(/^E(?:NOENT|ACCES)$/)]);
  expect(read).toHaveLength(5);
});

test('without a sandbox it can, and check says so', async () => {
  await start({ MCP_SANDBOX: 'off' });
  const read = await readByTool(secrets());
  expect(read.filter((said) => /^E[A-Z]+$/.test(said))).toEqual([]);
  const checked = await runCli(['check'], world.env);
  expect(checked.code).toBe(0);
  expect(checked.stdout).toMatch(
    /^advice tools of notebook: \d+ tools; NOT sandboxed \(MCP_SANDBOX is off\): it can read what the gateway can, \.env/m,
  );
});
