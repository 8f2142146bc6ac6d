import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { runCli } from '../../fixture/cli.ts';
import { assistant, call, image, png, result, text, thinking, user } from '../../fixture/content-blocks.ts';
import { CHAT, eachInWorld, start, world } from '../../fixture/each-test.ts';
import { ask } from '../../fixture/whole-chat.ts';

eachInWorld();

const importLines = (input: string) => runCli(['session', 'import', String(CHAT)], world.env, { input });
const jsonl = (...lines: object[]) => lines.map((line) => JSON.stringify(line)).join('\n');

const cited = { type: 'char_location', cited_text: 'c', document_index: 0, document_title: null };
const place = { ...cited, start_char_index: 0, end_char_index: 1, file_id: null };
const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } };
const photo = { type: 'kept', sha256: 'a'.repeat(64), media_type: 'image/png', bytes: 9, width: 1, height: 1 };
const twoCalls = [user('a'), assistant(call('t1'), call('t2'))];

const REFUSED: [what: string, line: number, input: string, rule?: string][] = [
  ['invalid JSON', 2, '{"role":"user","content":"a"}\nnonsense'],
  ['an unknown role', 1, '{"role":"system","content":"a"}'],
  ['no content', 3, '{"role":"user","content":"a"}\n\n{"role":"user"}'],
  ['a result of no call', 3, jsonl(user('a'), assistant('b'), user(result('t1'))), 'result-has-call'],
  ['two results of a call', 3, jsonl(...twoCalls, user(result('t1'), result('t2'), result('t1'))), 'one-result'],
  ['a result behind a text', 3, jsonl(...twoCalls, user(result('t1'), 'b', result('t2'))), 'results-first'],
  ['a call of a user', 1, jsonl(user('a', call('t1'))), 'block-side'],
  ['a picture that is none', 3, jsonl(user('a'), assistant('b'), user('c', image('aGVsbG8='))), 'media-readable'],
  ['an unknown key', 1, jsonl(user(text('a', { _id: 1 }))), 'known-shape'],
];

test('session import names the line and the rule that is broken, and stores nothing', async () => {
  for (const [what, line, input, rule = ''] of REFUSED) {
    const stderr = expect.stringMatching(new RegExp(`Line ${line}: .*${rule}.*Nothing was imported`));
    expect({ what, ...(await importLines(input)) }).toMatchObject({ what, code: 1, stderr });
  }
  expect(await world.peek.exists(world.keys.chat(chatKey(CHAT)))).toBe(0);
});

test('an export of an earlier version is imported, whatever it left behind, and the conversation goes on', async () => {
  const failed = { ...result('functions.look:0', [image(png(9, 9))]), is_error: true };
  const lines = [
    user('half \ud83d', { type: 'image', source: photo }),
    assistant(thinking('never sealed', { signature: '' }), text('a', { citations: [place] })),
    user('Look'),
    assistant(text('\n'), call('functions.look:0', { name: 'files.look' })),
    user(failed),
    assistant('I see nothing.'),
    user('Again'),
    assistant(call('functions.look:0'), call('t2')),
    user('Still there?'),
    assistant('Yes.', search),
    ...Array.from({ length: 101 }, () => [user('One more', image(png(9, 9))), assistant('Nice.')]).flat(),
  ];
  expect(await importLines(jsonl(...lines))).toMatchObject({ code: 0 });
  await start();
  expect(await ask('And now?')).toMatchObject({ outcome: 'answered', recoveries: 0, attempts: 1 });
  expect(world.claude.calls[0]?.body.messages.length).toBeGreaterThan(200);
  expect(world.claude.violations()).toEqual([]);
});
