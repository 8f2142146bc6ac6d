import { type ChildProcess, spawn as spawnProgram } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { isRunning } from '../../../shared/base/machine.ts';
import { readMcpConfig } from '../../../worker/features/mcp/config.ts';
import { cleanUps, ownFolder } from '../../fixture/clean-ups.ts';
import { call } from '../../fixture/content-blocks.ts';
import { CHAT, eachInWorld, mainCalls, spawn, world } from '../../fixture/each-test.ts';
import { BARE_ENV } from '../../fixture/environment.ts';
import { freePort } from '../../fixture/free-port.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { programsWith } from '../../fixture/host.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { startToolbox, stdioServer, textOf } from '../../fixture/mcp-toolbox.ts';
import { hasBwrap } from '../../fixture/means.ts';
import { limitMemory } from '../../fixture/memory-limit.ts';
import { until } from '../../fixture/root.ts';
import { serverArguments } from '../../fixture/server-program.ts';
import { temporaryFile } from '../../fixture/temporary-file.ts';

const BYSTANDER = CHAT + 1;
const BYSTANDER_MS = 2_000;
const LIMIT_MB = 512;
const RATE = /sent more than 100 messages a second that answer no request/;
/** At this limit a stream may be opened once a second, which the slowest machine exceeds. */
const STREAM_LIMITS = { messages: 20 };
const STREAM_RATE = /sent more than 20 messages a second that answer no request/;
const NO_MESSAGES = /sent more than 20 texts that are no messages/;
const UNREAD = /left more than 32 answers to its requests unread/;

eachInWorld();

/** Writes a configuration with one server, named `flood`. */
const configured = (server: object) =>
  temporaryFile(JSON.stringify({ mcpServers: { flood: { approve: 'never', ...server } } }));

/** The entry of a server that floods in one way, which is started here if it speaks HTTP. */
async function floodServer(transport: 'stdio' | 'HTTP', way: string): Promise<object> {
  const folder = await ownFolder();
  const args = serverArguments('flood-server.ts');
  const env = { ...BARE_ENV, FLOOD: way, FLOOD_MARK: join(folder, 'mark') };
  if (transport === 'stdio') return { command: process.execPath, args, env };
  const port = await freePort();
  const options = { env: { ...env, FLOOD_PORT: String(port) }, stdio: ['ignore', 'ignore', 'pipe'] as const };
  const child: ChildProcess = spawnProgram(process.execPath, args, options as never);
  cleanUps.push(() => child.kill('SIGKILL'));
  if (child.stderr) await once(child.stderr, 'data');
  return { url: `http://127.0.0.1:${port}/mcp` };
}

/** Says something in another chat; how long its answer took. */
async function askAside(nth: number): Promise<number> {
  const sinceMs = performance.now();
  world.telegram.say(BYSTANDER, `How are you (${nth})?`);
  expect(await nextOutcome(world, BYSTANDER, nth, 20_000)).toMatchObject({ outcome: 'answered' });
  return performance.now() - sinceMs;
}

test.each([
  ['stdio', 'pings', RATE],
  ['HTTP', 'pings', UNREAD],
  ['HTTP', 'notes', RATE],
] as const)(
  'under 512 MB a server over %s that floods us with %s is cut off: its caller reads why, the alert names it, and nobody else waits',
  async (transport, way, bound) => {
    const memory = limitMemory(LIMIT_MB);
    const gateway = await spawn({ MCP_CONFIG: await configured(await floodServer(transport, way)) });
    memory.hold(gateway.pid);
    world.claude.react(({ kind, body, pendingText }) =>
      kind === 'main' && pendingText === 'Begin' && body.messages.length === 1
        ? { do: 'answer', content: [call('t1', { name: 'flood__flood', input: {} })] }
        : undefined,
    );
    expect(await askAside(1)).toBeLessThan(20_000);
    world.telegram.say(CHAT, 'Begin');
    await until(
      'the tool is called',
      () => mainCalls().some(({ pendingText }) => pendingText === 'Begin') || undefined,
    );
    const waitedMs: number[] = [];
    for (const nth of [2, 3, 4]) waitedMs.push(await askAside(nth));
    expect(await nextOutcome(world, CHAT, 1, 20_000)).toMatchObject({ outcome: 'answered' });
    expect(Math.max(...waitedMs)).toBeLessThan(BYSTANDER_MS);
    const results = JSON.stringify(mainCalls().map(({ body }) => body.messages.at(-1)));
    expect(results).toMatch(new RegExp(`The tool's server was cut off \\(it ${bound.source}\\) during the call`));
    const alert = await until('the alert', () =>
      world.telegram.shown(ALERT_CHAT).find(({ text }) => text.includes('"flood" was cut off')),
    );
    expect(alert.text).toMatch(bound);
    expect(memory.peakBytes()).toBeLessThanOrEqual(LIMIT_MB * 1024 * 1024);
    // It is the process that was started.
    await gateway.stop();
    expect(await gateway.ended).toBe('0');
    await memory.end();
  },
  120_000,
);

test.each([
  ['stdio', 'long pings', UNREAD, {}],
  ['stdio', 'lists', RATE, {}],
  ['stdio', 'lines', NO_MESSAGES, {}],
  ['HTTP', 'streams', STREAM_RATE, STREAM_LIMITS],
] as const)(
  'a server over %s that floods us with %s ends its connection, at each start anew',
  async (transport, way, bound, limits) => {
    const mcpServers = { flood: { approve: 'never', limits, ...(await floodServer(transport, way)) } };
    const reading = readMcpConfig(JSON.stringify({ mcpServers }));
    const { call, log } = await startToolbox(reading.ok ? reading.servers : []);
    expect(textOf(await call('flood__flood'))).toMatch(
      new RegExp(`was cut off \\(it ${bound.source}\\) during the call`),
    );
    const ends = () => log.filter(({ level, reason }) => level === 40 && bound.test(String(reason)));
    await until('the next starts', () => (ends().length >= 2 ? true : undefined));
    expect(log.filter(({ level }) => level === 40)).toEqual(ends());
  },
);

test.each(hasBwrap ? ['auto', 'off'] : ['off'])(
  'what a server started in sessions of its own ends when the gateway is killed (MCP_SANDBOX=%s)',
  async (sandbox) => {
    const { folder, command, args, env } = await stdioServer('flood');
    const gateway = await spawn({ MCP_CONFIG: await configured({ command, args, env }), MCP_SANDBOX: sandbox });
    const orphans = ['t1', 't2', 't3'].map((id) => call(id, { name: 'flood__orphan', input: { detached: true } }));
    world.claude.react(({ index }) => (index === 0 ? { do: 'answer', content: orphans } : undefined));
    world.telegram.say(CHAT, 'Leave something behind');
    expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
    const left = async () => (await programsWith(folder)).filter(isRunning);
    expect((await left()).length).toBeGreaterThanOrEqual(4);
    gateway.kill('SIGKILL');
    await gateway.ended;
    await until('nothing is left', async () => ((await left()).length === 0 ? true : undefined));
  },
);
