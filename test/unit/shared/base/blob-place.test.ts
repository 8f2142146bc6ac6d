import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { PROJECT_ROOT } from '../../../../shared/base/project.ts';
import { readSettings } from '../../../../shared/base/settings.ts';

const read = (value?: string) => readSettings(value === undefined ? {} : { BLOB_URL: value }, 'tool');

test.each([
  [undefined, join(PROJECT_ROOT, 'data', 'blobs')],
  ['file:///var/lib/spillway/blobs', '/var/lib/spillway/blobs'],
  ['file:///a%20b', '/a b'],
  ['/var/lib/spillway/blobs', '/var/lib/spillway/blobs'],
  ['data/files', join(PROJECT_ROOT, 'data', 'files')],
  ['./data/files', join(PROJECT_ROOT, 'data', 'files')],
  ['file:data/files', join(PROJECT_ROOT, 'data', 'files')],
])('BLOB_URL %p is the folder %p, whatever the working directory is', (value, folder) => {
  expect(read(value)).toMatchObject({ ok: true, settings: { BLOB_URL: { kind: 'files', folder } } });
});

test.each(['redis:', 'redis://'])('BLOB_URL %s keeps the bytes in Redis', (value) => {
  expect(read(value)).toMatchObject({ ok: true, settings: { BLOB_URL: { kind: 'redis' } } });
});

test.each(['https://example.org/blobs', 'file://host/blobs', 'file://', 'file:', 'redis://other:6379', 'gs://bucket'])(
  'BLOB_URL %s is malformed, and the problem says what is expected',
  (value) => {
    const problem = /^BLOB_URL is malformed: expected file:\/\/\/.* or redis:$/;
    expect(read(value)).toMatchObject({ ok: false, problems: [expect.stringMatching(problem)] });
  },
);

test.each([
  ['s3://files?region=eu-west-1', { bucket: 'files', prefix: '', region: 'eu-west-1' }],
  ['s3://my.files/a/b/?region=eu-west-1', { bucket: 'my.files', prefix: 'a/b/', region: 'eu-west-1' }],
  [
    's3://files/a?endpoint=http://127.0.0.1:7070',
    { bucket: 'files', prefix: 'a/', region: 'us-east-1', endpoint: 'http://127.0.0.1:7070' },
  ],
  [
    's3://files?endpoint=https%3A%2F%2Fs3.example.org&region=garage',
    { bucket: 'files', prefix: '', region: 'garage', endpoint: 'https://s3.example.org' },
  ],
])('BLOB_URL %s is a part of a bucket', (value, place) => {
  expect(read(value)).toMatchObject({ ok: true, settings: { BLOB_URL: { kind: 's3', ...place } } });
});

test.each([
  's3:',
  's3://',
  's3://files',
  's3://Files?region=x',
  's3://files/a b?region=x',
  's3://files/a//b?region=x',
  's3://files?region=',
  's3://files?region=x&acl=public',
  's3://files?endpoint=ftp://host',
  's3://files?endpoint=https://key:secret@host',
])('BLOB_URL %s is malformed, and the problem says what a bucket needs', (value) => {
  const problems = [expect.stringMatching(/^BLOB_URL is malformed: expected s3:\/\/bucket or .*endpoint/)];
  expect(read(value)).toMatchObject({ ok: false, problems });
});

test('keys in BLOB_URL are refused, and not shown', () => {
  const reading = read('s3://AKIAKEY:secret-word@files?region=x');
  expect(reading).toMatchObject({ ok: false, problems: [expect.stringContaining('AWS_SECRET_ACCESS_KEY')] });
  expect(JSON.stringify(reading)).not.toContain('secret-word');
});
