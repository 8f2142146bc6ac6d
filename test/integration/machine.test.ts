import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { hasEnded, ownMark } from '../../shared/base/machine.ts';

/** What a process says of itself. */
const SAYS_ITS_MARK =
  "import { ownMark } from './shared/base/machine.ts'; console.log(JSON.stringify(ownMark())); setInterval(() => {}, 1e6);";

test('hasEnded is true for a process of this machine once it has exited', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', SAYS_ITS_MARK], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const mark = JSON.parse(String(line)) as ReturnType<typeof ownMark>;
  expect([mark.pid, hasEnded(mark)]).toEqual([child.pid, false]);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(hasEnded(mark)).toBe(true);
});

test('hasEnded is true for a process id that was reused with another start time', () => {
  const own = ownMark();
  expect(hasEnded(own)).toBe(false);
  expect(hasEnded({ ...own, startedAt: '1' })).toBe(true);
});

test('hasEnded is false for a process of another machine or an unknown one', () => {
  const own = ownMark();
  expect(own.machine).toMatch(/^\S+ [0-9a-f-]{36} pid:\[\d+\]$/);
  const gone = { ...own, pid: 2 ** 22 + 1 };
  expect(hasEnded(gone)).toBe(true);
  expect(hasEnded({ ...gone, machine: 'another' })).toBe(false);
  expect(hasEnded({ host: own.host, pid: gone.pid })).toBe(false);
});
