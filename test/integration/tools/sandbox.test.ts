import { chmod, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect } from '@jest/globals';
import { isRunning } from '../../../shared/base/machine.ts';
import { PROJECT_ROOT } from '../../../shared/base/project.ts';
import { socketUrl } from '../../../shared/base/redis-address.ts';
import { findSandbox, secretPlaces } from '../../../worker/features/mcp/sandbox.ts';
import { ownFolder } from '../../fixture/clean-ups.ts';
import { programsWith } from '../../fixture/host.ts';
import { startToolbox, stdioServer, textOf, until } from '../../fixture/mcp-toolbox.ts';
import { asNobody, behindBwrap, isRoot } from '../../fixture/means.ts';

const SECRET = 'zq-very-secret-value';
let outside: string;

beforeEach(async () => {
  outside = await ownFolder();
});

/** A server behind bubblewrap, and what it says of a file: its text, or the code of the error. */
async function confinedServer(over: object = {}, hidden: readonly string[] = []) {
  const server = { ...(await stdioServer('a', { OWN_KEY: SECRET })), ...over };
  const box = await startToolbox([server], {}, { kind: 'bwrap', hidden });
  const read = (path: string) => box.say('a__read', { path });
  const write = (path: string) => box.say('a__write', { path });
  const mayWrite = (path: string) => box.say('a__may_write', { path });
  return { ...box, server, read, write, mayWrite };
}

behindBwrap('a server sees no process but its own, and none of what its configuration does not name', async () => {
  const settings = join(outside, 'settings');
  const data = join(outside, 'appendonly.aof');
  for (const file of [settings, data]) await writeFile(file, SECRET);
  const { read, say } = await confinedServer({}, [settings]);
  const seen = JSON.parse(await say('a__environments')) as string[];
  expect(seen.length).toBeGreaterThan(0);
  expect(seen.filter((environment) => !environment.includes('MCP_TEST_FOLDER'))).toEqual([]);
  for (const path of [
    `/proc/${process.pid}/environ`,
    `/proc/${process.pid}/cwd/package.json`,
    `/proc/${process.ppid}/environ`,
    settings,
    data,
    join(PROJECT_ROOT, 'spillway.ts'),
    join(PROJECT_ROOT, '.env'),
    join(PROJECT_ROOT, 'data', 'redis', 'appendonlydir'),
    '/run/docker.sock',
  ])
    expect([path, await read(path)]).toEqual([path, expect.stringMatching(/^E(?:NOENT|ACCES)$/)]);
  expect(await say('a__capabilities')).toBe('0000000000000000');
});

behindBwrap('a server writes to its own places alone, and its programs and packages are there', async () => {
  const packages = join(PROJECT_ROOT, 'node_modules');
  const ours = [PROJECT_ROOT, packages, join(packages, '.bin'), join(packages, 'zod')];
  const { args, env } = await stdioServer('a');
  // It is one of our packages.
  const own = { args: [...args, join(packages, '.bin', 'tsc'), join(packages, 'zod')], env };
  const { read, write, mayWrite, say } = await confinedServer(own);
  for (const path of ['/', '/usr', '/etc', '/proc/sys/kernel/core_pattern', ...ours])
    expect([path, await mayWrite(path)]).toEqual([path, isRoot ? 'EROFS' : expect.stringMatching(/^E(?:ROFS|ACCES)$/)]);
  expect(await write('/tmp/left-behind')).toBe('written');
  await expect(readFile('/tmp/left-behind')).rejects.toMatchObject({ code: 'ENOENT' });
  const { HOME: home } = JSON.parse(await say('a__env'));
  expect(home).toMatch(/spillway-mcp-/);
  expect(JSON.parse(await say('a__folder'))).toMatchObject({ cwd: home, mode: 0o700 });
  expect(await write(join(home, 'note'))).toBe('written');
  expect(await readFile(join(home, 'note'), 'utf8')).toBe('written');
  expect(await read(join(PROJECT_ROOT, 'node_modules', 'zod', 'package.json'))).toContain('"name": "zod"');
});

behindBwrap(
  'what a server is configured with is there: folders to write to, and what is ours in them is not',
  async () => {
    const [docs, store, secret] = [join(outside, 'docs'), join(outside, 'store'), join(outside, 'docs', 'ours')];
    for (const folder of [docs, store, secret]) await mkdir(folder);
    await writeFile(join(secret, 'key'), SECRET);
    await symlink(join(secret, 'key'), join(docs, 'way-round'));
    const plain = await stdioServer('a');
    const { read, write } = await confinedServer(
      { args: [...plain.args, docs], env: { ...plain.env, MEMORY: join(store, 'not-yet.json') }, cwd: docs },
      [secret],
    );
    expect(await write(join(docs, 'new'))).toBe('written');
    expect(await readFile(join(docs, 'new'), 'utf8')).toBe('written');
    expect(await write(join(store, 'not-yet.json'))).toBe('written');
    expect(await readFile(join(store, 'not-yet.json'), 'utf8')).toBe('written');
    expect(await read(join(secret, 'key'))).toBe('ENOENT');
    expect(await read(join(docs, 'way-round'))).toBe('ENOENT');
    await write(join(outside, 'beside'));
    await expect(readFile(join(outside, 'beside'))).rejects.toMatchObject({ code: 'ENOENT' });
  },
);

behindBwrap(
  'a server that puts a link in the place of what it is configured with gains nothing by its next start',
  async () => {
    const [store, secret, open] = [join(outside, 'store'), join(outside, 'ours'), join(outside, 'open')];
    for (const folder of [store, join(secret, 'redis'), open, join(store, 'sub')])
      await mkdir(folder, { recursive: true });
    await writeFile(join(secret, 'redis', 'key'), SECRET);
    const plain = await stdioServer('a');
    const over = { args: [...plain.args, join(store, 'db'), join(store, 'sub', 'log')], env: plain.env };
    const before = await confinedServer(over, [secret]);
    expect(await before.write(join(store, 'db'))).toBe('written');
    await before.box.stop();
    // What the server could have done in its folder.
    await rm(join(store, 'db'));
    await rm(join(store, 'sub'), { recursive: true });
    await symlink(join(secret, 'redis'), join(store, 'db'));
    await symlink(open, join(store, 'sub'));
    const { read, mayWrite } = await confinedServer(over, [secret]);
    expect(await read(join(secret, 'redis', 'key'))).toBe('ENOENT');
    expect(await mayWrite(open)).not.toBe('yes');
  },
);

behindBwrap('the socket of a Redis that the settings name is hidden, also when that Redis makes it anew', async () => {
  const socket = join(outside, 'redis', 'redis.sock');
  await mkdir(join(outside, 'redis'));
  await writeFile(socket, SECRET);
  const settings = { MCP_CONFIG: undefined, BLOB_URL: { kind: 'redis' }, REDIS_URL: socketUrl(socket) };
  const plain = await stdioServer('a');
  // Somebody names the folder around it.
  const { read } = await confinedServer({ args: [...plain.args, outside] }, secretPlaces(settings as never));
  expect(await read(socket)).not.toBe(SECRET);
  await rm(socket);
  await writeFile(socket, SECRET);
  expect(await read(socket)).not.toBe(SECRET);
  expect(secretPlaces({ ...settings, REDIS_URL: 'unix:///tmp/redis.sock' } as never)).toContain('/tmp/redis.sock');
});

behindBwrap('a stop ends all that a server has started, and so does a crash of the server', async () => {
  const { box, call, say, server } = await confinedServer();
  await say('a__orphan', { detached: true });
  const ours = () => programsWith(server.folder);
  expect((await ours()).length).toBeGreaterThanOrEqual(2);
  expect(textOf(await call('a__crash'))).toMatch(/server stopped during the call/);
  await until('the server is back', async () => (await say('a__echo', { text: 'again' })) === 'again');
  await say('a__orphan', { detached: true });
  await box.stop();
  await until('nothing is left', async () => (await ours()).every((pid) => !isRunning(pid)));
});

behindBwrap('a program that is not there is a problem that says so', async () => {
  const { box } = await confinedServer({ command: 'no-such-program-anywhere' });
  expect(box.state()[0]?.problem).toMatch(/no-such-program-anywhere: not found/);
  expect(box.state()[0]?.whyUnconfined).toBeUndefined();
});

/** The sandbox of a machine without bubblewrap. */
const withoutBwrap = () => findSandbox('auto', [], 'no-such-bwrap');

asNobody(
  'without bubblewrap a server of root is another user, who can read neither our secrets nor our process',
  async () => {
    const [settings, open] = [join(outside, 'settings'), join(outside, 'open')];
    for (const file of [settings, open]) await writeFile(file, SECRET, { mode: 0o600 });
    await chmod(outside, 0o755);
    await chmod(open, 0o644);
    const sandbox = await withoutBwrap();
    expect(sandbox.kind).toBe('user');
    const { args, env, ...server } = await stdioServer('a');
    await chmod(server.folder, 0o777);
    // Only what that user may write to.
    const given = { ...server, args: args.slice(0, -1), env: { MCP_TEST_FOLDER: env.MCP_TEST_FOLDER ?? '' } };
    const { say, box } = await startToolbox([given], {}, sandbox);
    const [{ whyUnconfined } = { whyUnconfined: 'no server' }] = box.state();
    if (whyUnconfined !== undefined) {
      process.stderr.write(`not shown here, since this checkout is not open to nobody: ${whyUnconfined}\n`);
      return;
    }
    expect(await say('a__read', { path: open })).toBe(SECRET);
    for (const path of [settings, `/proc/${process.pid}/environ`, `/proc/${process.pid}/cwd/package.json`])
      expect([path, await say('a__read', { path })]).toEqual([path, 'EACCES']);
    const { HOME: home } = JSON.parse(await say('a__env'));
    expect(await say('a__write', { path: join(home, 'note') })).toBe('written');
  },
);

asNobody('where that user cannot use what a server is configured with, the server runs, and it is said', async () => {
  const sandbox = await withoutBwrap();
  const server = await stdioServer('a');
  const { say, box } = await startToolbox([server], {}, sandbox);
  expect(await say('a__echo', { text: 'here' })).toBe('here');
  expect(box.state()[0]?.whyUnconfined).toMatch(/the user nobody cannot use/);
});
