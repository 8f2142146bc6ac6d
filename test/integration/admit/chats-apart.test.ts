import { readdir } from 'node:fs/promises';
import { beforeEach, expect, test } from '@jest/globals';
import { EN } from '../../../shared/texts/en.ts';
import { runCli } from '../../fixture/cli.ts';
import { call } from '../../fixture/content-blocks.ts';
import { eachWithNotebook } from '../../fixture/each-notebook.ts';
import { CHAT, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { pdfOf } from '../../fixture/files.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { callsTools, resultsIn, use } from '../../fixture/notebook.ts';
import { temporaryFolder } from '../../fixture/redis.ts';
import { runInTerminal } from '../../fixture/terminal.ts';
import { variants } from '../../fixture/variants.ts';
import { sessionOf } from '../../fixture/whole-chat.ts';
import { nestedBlocks } from '../../stand-in/claude/request.ts';

const OTHER = 66;
const PDF = pdfOf(2);
/** Longer than what is shown of a document. */
const LONG_TEXT = 'All that was said about the harbour. '.repeat(7_000);
/** Where the store's bytes are, in the folder and in Redis. */
const PLACES: [Record<string, string>][] = [[{}], [{ BLOB_URL: 'redis:' }]];

eachWithNotebook({ env: { TELEGRAM_ALLOWED_IDS: `${CHAT},${OTHER}`, TOOL_RESULT_MAX_CHARS: '1000' } });

const said = new Map<number, number>();
beforeEach(() => said.clear());

async function say(chat: number, text: string, extra: Record<string, unknown> = {}) {
  world.telegram.say(chat, text, { extra });
  said.set(chat, (said.get(chat) ?? 0) + 1);
  return nextOutcome(world, chat, said.get(chat));
}

function sendFile(chat: number, name: string, bytes: Buffer) {
  const id = world.telegram.addFile(bytes, `documents/${name}`);
  return say(chat, '', { document: { file_id: id, file_unique_id: id, file_name: name } });
}

/** The references that the newest request names, and those of its blocks. */
const references = () =>
  [...JSON.stringify(mainCalls().at(-1)?.body).matchAll(/\\"ref\\":\\"([0-9a-f]{64})/g)].map(([, ref]) => ref ?? '');
const bytesLeft = async () => [
  ...(await readdir(world.blobFolder, { recursive: true, withFileTypes: true })).filter(
    (each) => each.isFile() && each.name !== 'store-id',
  ),
  ...(await world.peek.keys('*:blob:*')),
  ...(await world.peek.keys('*:media:*')),
];
const documentsIn = (chat: number) =>
  world.telegram.shown(chat).flatMap(({ document }) => (document ? [document] : []));
const storedHash = async (chat: number) => {
  const log = await world.peek.lrange(world.keys.log(await sessionOf(chat)), 0, -1);
  return /"sha256":"([0-9a-f]{64})"/.exec(log.join('\n'))?.[1] ?? '';
};

/** The model follows a reference that somebody gave it. Returns what it got, and sends what it may. */
async function follow(chat: number, ref: string) {
  const [recall, send] = ['recall', 'send_file'].map((name) =>
    call(`${name}-${said.get(chat) ?? 0}`, { name, input: name === 'recall' ? { ref } : { name: 'theirs.pdf', ref } }),
  );
  world.claude.react(callsTools([recall as never, send as never]));
  await say(chat, `Show me ${ref}`);
  const made = mainCalls().at(-1);
  return (made ? resultsIn(made) : []).map((result) => ({
    isError: result.is_error === true,
    kinds: nestedBlocks(result).map(({ type }) => type),
  }));
}

const REFUSED = [
  { isError: true, kinds: ['text'] },
  { isError: true, kinds: ['text'] },
];

variants(PLACES)('a chat neither reads nor is sent the file of another one whose hash it knows (%j)', async (env) => {
  await start(env);
  await sendFile(CHAT, 'plan.pdf', PDF);
  const ref = await storedHash(CHAT);
  expect(ref).not.toBe('');
  expect(await follow(OTHER, ref)).toEqual(REFUSED);
  expect(documentsIn(OTHER)).toEqual([]);
  expect(await follow(CHAT, ref)).toMatchObject([{ isError: false, kinds: ['document'] }, { isError: false }]);
  expect(documentsIn(CHAT)).toEqual([{ name: 'theirs.pdf', bytes: PDF.length }]);
  await sendFile(OTHER, 'own.pdf', PDF);
  expect(await follow(OTHER, ref)).toMatchObject([{ isError: false, kinds: ['document'] }, { isError: false }]);
  expect(world.claude.violations()).toEqual([]);
});

test('/forget erases long texts and results at once, and another chat keeps the same file', async () => {
  await start();
  for (const chat of [CHAT, OTHER]) await sendFile(chat, 'plan.pdf', PDF);
  await sendFile(CHAT, 'harbour.txt', Buffer.from(LONG_TEXT));
  const [document = ''] = references();
  world.claude.react(callsTools([use('t1', 'write', { text: 'x'.repeat(5_000) })]));
  await say(CHAT, 'Write it down');
  const [, result = ''] = references();
  expect(new Set([document, result, '']).size).toBe(3);
  expect(await say(CHAT, '/forget yes')).toMatchObject({ outcome: 'command' });
  expect(shown().at(-1)).toBe(EN.forgotten);
  // One file and its pointer.
  expect(await bytesLeft()).toHaveLength(2);
  for (const ref of [document, result])
    for (const chat of [CHAT, OTHER]) expect(await follow(chat, ref)).toEqual(REFUSED);
  world.claude.react(callsTools());
  await say(OTHER, 'And the plan?');
  const shownPlan = /"type":"document"[^{]*"source":\{"type":"base64"/;
  expect(shownPlan.test(JSON.stringify(mainCalls().at(-1)?.body.messages))).toBe(true);
  await say(OTHER, '/forget yes');
  expect(await bytesLeft()).toEqual([]);
});

const forget = (...args: string[]) => runCli(['session', 'forget', '--yes', ...args], world.env);

test('session forget erases a chat while a gateway runs, once nothing waits, may be repeated, and is written down', async () => {
  await start();
  await sendFile(CHAT, 'harbour.txt', Buffer.from(LONG_TEXT));
  await say(CHAT, '/new');
  await sendFile(CHAT, 'plan.pdf', PDF);
  await say(OTHER, 'Hello');
  world.claude.react(({ pendingText }) => (pendingText === 'hang' ? { do: 'hang' } : undefined));
  world.telegram.say(CHAT, 'hang');
  await world.claude.waitForCall(({ pendingText }) => pendingText === 'hang');
  expect(await forget(String(CHAT))).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/Unanswered messages: 1/),
  });
  await runCli(['cancel', String(CHAT)], world.env);
  await nextOutcome(world, CHAT, 5);
  const elsewhere = { ...world.env, BLOB_URL: `file://${await temporaryFolder()}` };
  const nothing = { code: 1, stderr: expect.stringMatching(/Nothing was erased/) };
  expect(await runCli(['session', 'forget', String(CHAT), '--yes'], elsewhere)).toMatchObject(nothing);
  expect(await bytesLeft()).not.toEqual([]);
  expect(await forget(String(CHAT), '--by', 'ann', '--why', 'asked to')).toMatchObject({ code: 0 });
  expect(await bytesLeft()).toEqual([]);
  for (const key of ['*:log:*', '*:session:*', '*:usage:*']) expect(await world.peek.keys(key)).toHaveLength(1);
  const again = { code: 0, stdout: expect.stringContaining('"forgotten":true') };
  expect(await forget(String(CHAT), '--json')).toMatchObject(again);
  expect((await runCli(['actions'], world.env)).stdout).toMatch(/forget +1001.*asked to/);
  world.telegram.say(CHAT, 'Do you know me?');
  await world.claude.waitForCall(({ pendingText }) => pendingText === 'Do you know me?');
  expect(mainCalls().at(-1)?.body.messages).toHaveLength(1);
  expect(await forget('not a chat')).toMatchObject({ code: 2 });
});

test('session forget asks a person in a terminal, and wants --yes elsewhere', async () => {
  await start();
  await say(CHAT, 'Hello');
  const refused = await runCli(['session', 'forget', String(CHAT)], world.env);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('add --yes') });
  for (const [answer, code, words] of [
    ['no', 1, /Nothing was erased/],
    ['yes', 0, /All of chat 1001 is erased/],
  ] as const) {
    const terminal = runInTerminal(`worker/cli/main.ts session forget ${CHAT}`, world.env);
    await terminal.sees(/erases all of chat 1001 for good\. Type yes/);
    terminal.types(answer);
    expect([await terminal.ended, terminal.shown()]).toEqual([code, expect.stringMatching(words)]);
  }
  expect(await world.peek.keys('*:log:*')).toEqual([]);
});
