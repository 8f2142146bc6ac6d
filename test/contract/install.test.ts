import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { PROJECT_ROOT } from '../../shared/base/project.ts';
import { temporaryFolder } from '../fixture/redis.ts';

test('an install with the settings of this project runs no script of a dependency', async () => {
  const folder = await temporaryFolder();
  try {
    const ran = join(folder, 'ran');
    await mkdir(join(folder, 'dependency'));
    await copyFile(join(PROJECT_ROOT, '.npmrc'), join(folder, '.npmrc'));
    await writeFile(
      join(folder, 'dependency', 'package.json'),
      JSON.stringify({ name: 'dependency', version: '1.0.0', scripts: { postinstall: `touch '${ran}'` } }),
    );
    await writeFile(
      join(folder, 'package.json'),
      JSON.stringify({ dependencies: { dependency: 'file:dependency' }, allowScripts: { dependency: true } }),
    );
    await promisify(execFile)('npm', ['install', '--offline'], { cwd: folder });
    expect(existsSync(join(folder, 'node_modules', 'dependency'))).toBe(true);
    expect(existsSync(ran)).toBe(false);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
