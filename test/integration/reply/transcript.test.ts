import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { runFile } from '../../fixture/command.ts';
import { temporaryFolder } from '../../fixture/redis.ts';
import { variants } from '../../fixture/variants.ts';
import { SCENES } from '../../tools/transcript/catalogue.ts';
import { ANN, type Scene } from '../../tools/transcript/scene.ts';
import { transcribe } from '../../tools/transcript/transcribe.ts';

const TRANSCRIPT = 'test/tools/transcript/main.ts';
const ALL_MS = 170_000;

const LOOKS = [/<table>/, /class="quote|<blockquote>/, /⏹ Stop/, /↻/, /in topic 40/, /🔕/, /🔔/, /☑/];

variants<[string, RegExp[]]>([
  ['group', [/🔔/]],
  ['', LOOKS],
])(
  'every scene with "%s" in its name plays as expected, and the page has each of them with what its chats show',
  async (only, looks) => {
    const out = join(await temporaryFolder(), 'pages', 'transcript.html');
    const ended = await runFile(TRANSCRIPT, ['--out', out, '--only', only], {}, { timeoutMs: ALL_MS });
    expect(ended.stdout.split('\n').filter((line) => line.startsWith('FAILED'))).toEqual([]);
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('Written: ') });
    const page = await readFile(out, 'utf8');
    for (const { name, title } of SCENES.filter((scene) => scene.name.includes(only))) {
      expect(page).toContain(`<section id="${name}"><h2>${title}</h2>`);
      expect(ended.stdout).toMatch(new RegExp(`^ok {4} ${name}$`, 'm'));
    }
    expect(page).not.toContain('This scene did not play');
    for (const look of looks) expect(page).toMatch(look);
  },
  ALL_MS,
);

test('a scene whose expectation fails makes the whole fail, and its page shows how far it came', async () => {
  const file = join(await temporaryFolder(), 'transcript.html');
  const lines: string[] = [];
  const wrong: Scene = {
    name: 'wrong',
    title: 'Wrong',
    about: '',
    chats: [{ id: ANN.id, title: 'Ann' }],
    play: ({ write }) => write(ANN.id, 'hello', 'failed'),
  };
  expect(await transcribe([wrong], file, (line) => lines.push(line))).toBe(false);
  expect(lines[0]).toMatch(/^FAILED wrong: .*the outcome of "hello"/);
  const page = await readFile(file, 'utf8');
  expect(page).toMatch(/This scene did not play as expected: .*the outcome of &quot;hello&quot;/);
  expect(page).toContain('You said: hello');
});

test('a name that no scene has, and an option that is not known, exit 2', async () => {
  expect(await runFile(TRANSCRIPT, ['--only', 'nonsense'], {})).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('The scenes are: formatted, '),
  });
  expect(await runFile(TRANSCRIPT, ['--nonsense'], {})).toMatchObject({ code: 2 });
});
