import { expect, test } from '@jest/globals';
import { REDIS_SETTINGS } from '../../shared/base/redis-settings.ts';
import { read } from '../house/sources.ts';

const OF = { all: 'every server', replicated: 'a server with replicas', cluster: 'the nodes of a cluster' } as const;

test('the operations page lists each recommended setting with its risk, and no other', () => {
  const page = read('docs/operations.md').split('### Settings of Redis')[1]?.split('\n## ')[0] ?? '';
  const rows = page.split('\n').filter((line) => line.startsWith('| `'));
  expect(rows).toEqual(
    REDIS_SETTINGS.map(({ name, value, of, risk }) => `| \`${name} ${value}\` | ${OF[of]} | ${risk} |`),
  );
});

test('the Redis of the compose file runs with the settings for every server', () => {
  const [, command = ''] = /exec redis-server - (--appendonly .*) <</.exec(read('docker-compose.yml')) ?? [];
  for (const { name, value } of REDIS_SETTINGS.filter(({ of }) => of === 'all'))
    expect(` ${command} `).toContain(` --${name} ${value} `);
});

test('no other page recommends another value', () => {
  for (const page of ['README.md', 'docs/scale-out.md', 'docs/runbook.md', 'docs/state.md', 'SECURITY.md'])
    for (const { name, value, isMet } of REDIS_SETTINGS)
      for (const [, found = ''] of read(page).matchAll(new RegExp(`\\b${name} ([\\w]+)\`?`, 'g')))
        expect([page, name, isMet(found) ? value : found]).toEqual([page, name, value]);
});
