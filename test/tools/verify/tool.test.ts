import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { temporaryFolder } from '../../fixture/redis.ts';
import { findTools, missingTools, TOOL_NAMES } from './tool.ts';

test('a program is found by any of its names, with the version that it states', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'otelcol-contrib'), '#!/bin/sh\necho "otelcol-contrib version 0.159.0"\n', {
    mode: 0o700,
  });
  await writeFile(join(folder, 'promtool'), '#!/bin/sh\necho "what?" >&2; exit 1\n', { mode: 0o700 });
  const tools = findTools([folder]);
  expect(tools).toEqual({ otelcol: { name: 'otelcol', file: join(folder, 'otelcol-contrib'), version: '0.159.0' } });
  const missing = missingTools(tools);
  expect(missing).toHaveLength(Object.keys(TOOL_NAMES).length - 1);
  expect(missing.join('\n')).not.toContain('otelcol');
  await rm(folder, { recursive: true });
});
