import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { getDefaultEnvironment } from '@modelcontextprotocol/sdk/client/stdio.js';
import { isRunning } from '../../../shared/base/machine.ts';
import { SERVER_LIMITS } from '../../../worker/features/mcp/config.ts';
import type { Sandbox } from '../../../worker/features/mcp/sandbox.ts';
import { programsWith } from '../../fixture/host.ts';
import {
  childToolbox,
  http,
  httpServer,
  lateServer,
  startToolbox,
  stdioServer,
  textOf,
  until,
} from '../../fixture/mcp-toolbox.ts';
import { hasBwrap } from '../../fixture/means.ts';

const SECRET = 'zq-very-secret-value';
const MAYBE = /it may or may not have taken effect/;

test('a child gets only the default environment variables and the configured ones', async () => {
  const { server, say } = await childToolbox({ OWN_KEY: SECRET });
  const names = Object.keys(JSON.parse(await say('a__env')));
  // The shell that sets its limits adds where it is, and the gateway a mark by which leftovers are found.
  const added = ['PWD', 'OLDPWD', 'SHLVL', '_', 'SPILLWAY_TOOL_SERVER'];
  const allowed = [...Object.keys(getDefaultEnvironment()), ...Object.keys(server.env), ...added];
  expect(Object.keys(process.env).length).toBeGreaterThan(allowed.length);
  expect(names).toContain('OWN_KEY');
  expect(names.filter((name) => !allowed.includes(name))).toEqual([]);
});

test('a crash ends the calls in flight at once, and the server is started again with the same tools', async () => {
  const { server, serves, box, call, say, log } = await childToolbox({}, { retryMs: 300 });
  const before = box.specs();
  const hanging = call('a__hang');
  const crashed = await call('a__crash');
  for (const output of [crashed, await hanging]) {
    expect(output.isError).toBe(true);
    expect(textOf(output)).toMatch(/server stopped during the call; it may or may not have taken effect/);
  }
  // While it is away its tools are still told of, and a call says so.
  expect(box.specs()).toBe(before);
  expect(await call('a__echo', { text: 'x' })).toMatchObject({ isError: true });
  expect(await say('a__echo', { text: 'x' })).toMatch(/not available right now/);
  await serves('a');
  expect(box.specs()).toBe(before);
  expect(await server.pids()).toHaveLength(2);
  expect(log.filter(({ level }) => level === 40)).toHaveLength(1);
});

test.each([
  { kind: 'in its process group', detached: false },
  { kind: 'in a session of its own', detached: true },
])(
  'a crash is detected although an orphan $kind holds the pipes of the server, and the orphan ends too',
  async ({ detached }) => {
    const { serves, box, call, say } = await childToolbox();
    const first = Number(await say('a__orphan', { detached }));
    expect(isRunning(first)).toBe(true);
    expect(textOf(await call('a__crash'))).toMatch(/server stopped during the call/);
    await serves('a');
    expect(isRunning(first)).toBe(false);
    const second = Number(await say('a__orphan', { detached }));
    await box.stop();
    expect(isRunning(second)).toBe(false);
  },
);

const SANDBOXES: Sandbox[] = [
  { kind: 'none', why: 'a test' },
  ...(hasBwrap ? [{ kind: 'bwrap', hidden: [] } as const] : []),
];

test.each(
  SANDBOXES.flatMap((sandbox) => [
    { kind: sandbox.kind, sandbox, of: 'megabytes', limits: { memoryMb: 300 }, most: 400 },
    { kind: sandbox.kind, sandbox, of: 'processes', limits: { processes: 40 }, most: 60 },
  ]),
)(
  'a server that hoards $of is cut off with all its processes (sandbox: $kind)',
  async ({ sandbox, of, limits, most }) => {
    const server = await stdioServer('a');
    const limited = { ...server, limits: { ...SERVER_LIMITS, ...limits } };
    const { serves, box, call, log } = await startToolbox([limited], { steadyMs: 500 }, sandbox);
    const before = await programsWith(server.folder);
    const hanging = call('a__hang');
    await call('a__hoard', { of, most });
    const bound =
      of === 'processes'
        ? 'it runs more than 40 processes and threads'
        : 'its processes use more than 300 MB of memory';
    expect(textOf(await hanging)).toContain(`server was cut off (${bound}) during the call`);
    expect(box.state()[0]?.brokenBound).toBe(bound);
    await serves('a');
    expect(log.find(({ level }) => level === 40)).toMatchObject({ server: 'a', reason: bound });
    expect((await programsWith(server.folder)).filter(isRunning).length).toBeLessThanOrEqual(before.length);
    await until('the connection has held for a while', () => box.state()[0]?.brokenBound === undefined);
  },
);

test.each(SANDBOXES)('the kernel holds one process to its open files and memory (sandbox: $kind)', async (sandbox) => {
  const server = await stdioServer('a');
  const limited = { ...server, limits: { ...SERVER_LIMITS, openFiles: 100, memoryMb: 300 } };
  const { say } = await startToolbox([limited], {}, sandbox);
  expect(Number(await say('a__hoard', { of: 'files', most: 500 }))).toBeLessThan(100);
  // All at once, so that no look at what is used comes first.
  expect(await say('a__hoard', { of: 'one piece of megabytes', most: 5_000 })).toBe('0');
});

test('a call that is called off or times out returns an error; its server gets a cancellation and is kept', async () => {
  const { server, call, say, log } = await childToolbox({}, { timeoutMs: 1_000 });
  const aborting = new AbortController();
  const called = call('a__slow', {}, aborting.signal);
  await until('it began', async () => (await server.notes()).includes('slow began'));
  const began = performance.now();
  aborting.abort();
  for (const output of [await called, await call('a__slow', {}, aborting.signal)]) {
    expect(output.isError).toBe(true);
    expect(textOf(output)).toMatch(/called off/);
  }
  expect(performance.now() - began).toBeLessThan(900);
  await until('the server was told', async () => (await server.notes()).includes('slow cancelled'));
  for (const output of await Promise.all([call('a__slow'), call('a__hang')])) {
    expect(output.isError).toBe(true);
    expect(textOf(output)).toMatch(/did not answer within 1 seconds; it may or may not have taken effect/);
  }
  const notesOf = async (text: string) => (await server.notes()).filter((note) => note === text);
  await until('the server was told again', async () => (await notesOf('slow cancelled')).length === 2);
  expect(await notesOf('slow began')).toHaveLength(2);
  expect(await say('a__echo', { text: 'still there' })).toBe('still there');
  expect(await server.pids()).toHaveLength(1);
  expect(log.filter(({ level }) => Number(level) >= 40)).toEqual([]);
});

test('a frozen server is killed after a call that timed out, and restarted', async () => {
  const { server, call, say } = await childToolbox({}, { timeoutMs: 200, probeMs: 100 });
  const [pid = 0] = await server.pids();
  process.kill(pid, 'SIGSTOP');
  expect(textOf(await call('a__echo', { text: 'x' }))).toMatch(/did not answer within/);
  await until('another child serves', async () => (await say('a__echo', { text: 'new' })) === 'new');
  await until('the frozen one is gone', () => !isRunning(pid));
});

test('the error of a tool is passed on in the words of the server, cut and without secrets', async () => {
  const { call } = await childToolbox({ OWN_KEY: SECRET });
  const text = `cannot log in with ${SECRET} and sk-ant-abcdefghijklmnop ${'x '.repeat(9_000)}`;
  for (const name of ['a__fail', 'a__throw']) {
    const output = await call(name, { text });
    expect(output.isError).toBe(true);
    expect(output.parts).toHaveLength(1);
    expect(textOf(output)).toContain('cannot log in with [secret] and [secret]');
    expect(textOf(output).length).toBeLessThan(4_100);
  }
  expect(textOf(await call('a__fail', { text: '' }))).toMatch(/failed and did not say why/);
  expect(await call('a__structured')).toEqual({ parts: [{ type: 'text', text: '{"degrees":21}' }], isError: false });
});

test('a text of 6 MB is cut with its full length; an answer of 11 MB ends the connection, and the server is restarted', async () => {
  const { say, serves } = await childToolbox({}, { timeoutMs: 60_000 });
  const big = await say('a__big', { chars: 6_000_000 });
  expect(big.slice(4_194_303)).toBe('x\n[… cut: the whole text had 6000000 characters …]');
  expect(await say('a__big', { chars: 11_000_000 })).toMatch(
    /server was cut off \(it sent a message of more than 10485760 bytes\) during the call/,
  );
  await serves('a');
});

test('the standard error of a child never blocks it and is logged in lines without secrets', async () => {
  const { server, say, log } = await childToolbox({ OWN_KEY: SECRET });
  await say('a__mutter', { text: `key is ${SECRET}\ntoken=abcdefgh12345` });
  await until('both lines are logged', () => log.filter(({ line }) => line !== undefined).length >= 2);
  expect(await say('a__noise')).toBe('all written');
  expect(await say('a__echo', { text: 'still there' })).toBe('still there');
  const lines = log.flatMap(({ line, level }) => (line === undefined ? [] : [{ line: String(line), level }]));
  expect(lines.slice(0, 2)).toEqual([
    { line: 'key is [secret]', level: 20 },
    { line: 'token=[secret]', level: 20 },
  ]);
  expect(lines.length).toBeLessThan(700);
  expect(await server.pids()).toHaveLength(1);
});

test('stop ends every child and the calls in flight, and can be called twice', async () => {
  const server = await stdioServer('a');
  const stubborn = await stdioServer('b', { MCP_TEST_MANNERS: 'stubborn' });
  const { box, call, say } = await startToolbox([server, stubborn]);
  const pids = [...(await server.pids()), ...(await stubborn.pids())];
  expect(pids.map(isRunning)).toEqual([true, true]);
  const hanging = call('a__hang');
  await Promise.all([box.stop(), box.stop()]);
  expect(pids.map(isRunning)).toEqual([false, false]);
  expect(await stubborn.notes()).toContain('ignored SIGTERM');
  expect(textOf(await hanging)).toMatch(MAYBE);
  expect(await say('a__echo', { text: 'x' })).toMatch(/not available right now/);
});

test('an unavailable server delays no other and is retried with backoff; its tools appear once it starts', async () => {
  const late = await lateServer('late');
  const missing = { ...late, name: 'missing', command: 'no-such-program-anywhere', env: { KEY: SECRET } };
  const there = await http();
  const began = performance.now();
  const { names, say, log } = await startToolbox([late, missing, httpServer('web', there.url)], {
    retryMs: 40,
    retryMaxMs: 300,
    startMs: 8_000,
  });
  expect(performance.now() - began).toBeLessThan(6_000);
  expect(new Set(names().map((name) => name.split('__')[0]))).toEqual(new Set(['web']));
  await until('four tries', async () => (await late.notes()).length >= 4);
  // The waits grow, so that a child that exits at once does not spin.
  const times = (await late.notes()).map((note) => Number(note.split(' ')[2]));
  for (const [at, atLeastMs] of [30, 60, 120].entries()) {
    expect((times[at + 1] ?? 0) - (times[at] ?? 0)).toBeGreaterThanOrEqual(atLeastMs - 5);
  }
  await writeFile(join(late.folder, 'may-start'), '');
  await until('its tools appear', () => names().includes('late__echo'));
  // It stands before the others, as in the configuration.
  expect(names()[0]).toBe('late__echo');
  expect(await say('late__echo', { text: 'here' })).toBe('here');
  const warnings = log.filter(({ level, server }) => level === 40 && server === 'late');
  expect(warnings.length).toBeLessThanOrEqual((await late.pids()).length);
  expect(JSON.stringify(log)).toMatch(/no-such-program-anywhere: not found/);
  expect(JSON.stringify(log)).not.toContain(SECRET);
});

test('a silent server is waited for startMs, and the stop still ends it', async () => {
  const mute = await stdioServer('mute', { MCP_TEST_MANNERS: 'mute' });
  const there = await http();
  const { box, log, say } = await startToolbox([mute, httpServer('web', there.url)], { startMs: 1_500 });
  expect(log).toContainEqual(expect.objectContaining({ level: 40, server: 'mute', startMs: 1_500 }));
  expect(await say('web__echo', { text: 'here' })).toBe('here');
  const pid = await until('the child runs', async () => (await mute.pids())[0]);
  await box.stop();
  expect(isRunning(pid)).toBe(false);
});
