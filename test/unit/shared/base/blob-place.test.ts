import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { readConfig } from '../../../../shared/base/config.ts';
import { PROJECT_ROOT } from '../../../../shared/base/project.ts';

const read = (value?: string) => readConfig(value === undefined ? {} : { BLOB_URL: value }, 'tool');

test.each([
  [undefined, join(PROJECT_ROOT, 'data', 'blobs')],
  ['file:///var/lib/spillway/blobs', '/var/lib/spillway/blobs'],
  ['file:///a%20b', '/a b'],
  ['/var/lib/spillway/blobs', '/var/lib/spillway/blobs'],
  ['data/files', join(PROJECT_ROOT, 'data', 'files')],
  ['./data/files', join(PROJECT_ROOT, 'data', 'files')],
  ['file:data/files', join(PROJECT_ROOT, 'data', 'files')],
])('BLOB_URL %p is the folder %p, whatever the working directory is', (value, folder) => {
  expect(read(value)).toMatchObject({ ok: true, config: { BLOB_URL: { kind: 'files', folder } } });
});

test.each(['redis:', 'redis://'])('BLOB_URL %s keeps the bytes in Redis', (value) => {
  expect(read(value)).toMatchObject({ ok: true, config: { BLOB_URL: { kind: 'redis' } } });
});

test.each(['https://example.org/blobs', 'file://host/blobs', 'file://', 'file:', 'redis://other:6379', 'gs://bucket'])(
  'BLOB_URL %s is malformed, and the problem says what is expected',
  (value) => {
    const problem = /^BLOB_URL is malformed: expected file:\/\/\/.* or redis:$/;
    expect(read(value)).toEqual({ ok: false, problems: [expect.stringMatching(problem)] });
  },
);

test('s3:// is refused with what to use instead', () => {
  const problems = [
    expect.stringMatching(/^BLOB_URL is malformed: s3:\/\/ is not supported by this version; use a folder/),
  ];
  expect(read('s3://bucket/prefix')).toEqual({ ok: false, problems });
});
