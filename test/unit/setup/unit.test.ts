import { expect, test } from '@jest/globals';
import { unitOf } from '../../../setup/unit.ts';

test('a unit runs the gateway from its folder, as its owner, with its settings file', () => {
  const unit = unitOf({
    user: 'me',
    folder: '/opt/spillway',
    node: '/usr/bin/node',
    program: 'spillway.ts',
    envFile: '/opt/spillway/.env',
  });
  expect(unit).toContain('\nUser=me\nWorkingDirectory=/opt/spillway\n');
  expect(unit).toContain('\nEnvironment="SPILLWAY_ENV_FILE=/opt/spillway/.env"\n');
  expect(unit).toContain('\nExecStart="/usr/bin/node" "spillway.ts"\n');
});

test('a unit writes the data and its cache, and neither the project nor what other commands run', () => {
  const unit = unitOf({
    user: 'me',
    folder: '/opt/spillway',
    node: '/usr/bin/node',
    program: 'spillway.ts',
    envFile: '/opt/spillway/.env',
  });
  expect(unit.match(/^(?:ReadWrite|ReadOnly)Paths=.*$/gm)).toEqual([
    'ReadWritePaths="/opt/spillway/data" "/opt/spillway/.cache"',
    'ReadOnlyPaths="-/opt/spillway/.cache/compiled"',
  ]);
  expect(unit).toContain('\nProtectSystem=strict\n');
});

test('what systemd would expand in a path is escaped', () => {
  const unit = unitOf({ user: 'me', folder: '/a b/100%', node: '/n$x/"node"', program: 'spillway.ts', envFile: '/e' });
  expect(unit).toContain('\nWorkingDirectory=/a b/100%%\n');
  expect(unit).toContain('\nReadWritePaths="/a b/100%%/data" "/a b/100%%/.cache"\n');
  expect(unit).toContain('\nExecStart="/n$$x/\\"node\\"" "spillway.ts"\n');
});
