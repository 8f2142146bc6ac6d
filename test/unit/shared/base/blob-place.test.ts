import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { PROJECT_ROOT } from '../../../../shared/base/project.ts';
import { problemsOf, settingsOf } from '../../../fixture/settings.ts';

const files = (...folder: string[]) => ({ kind: 'files', folder: join(...folder) });
const bucket = (place: object) => ({ kind: 's3', prefix: '', region: 'us-east-1', ...place });

test.each([
  [undefined, files(PROJECT_ROOT, 'data', 'blobs')],
  ['file:///var/lib/spillway/blobs', files('/var/lib/spillway/blobs')],
  ['file:///a%20b', files('/a b')],
  ['/var/lib/spillway/blobs', files('/var/lib/spillway/blobs')],
  // The working directory is of no consequence.
  ['data/files', files(PROJECT_ROOT, 'data', 'files')],
  ['./data/files', files(PROJECT_ROOT, 'data', 'files')],
  ['file:data/files', files(PROJECT_ROOT, 'data', 'files')],
  ['redis:', { kind: 'redis' }],
  ['redis://', { kind: 'redis' }],
  ['s3://files?region=eu-west-1', bucket({ bucket: 'files', region: 'eu-west-1' })],
  ['s3://my.files/a/b/?region=eu-west-1', bucket({ bucket: 'my.files', prefix: 'a/b/', region: 'eu-west-1' })],
  [
    's3://files/a?endpoint=http://127.0.0.1:7070',
    bucket({ bucket: 'files', prefix: 'a/', endpoint: 'http://127.0.0.1:7070' }),
  ],
  [
    's3://files?endpoint=https%3A%2F%2Fs3.example.org&region=garage',
    bucket({ bucket: 'files', region: 'garage', endpoint: 'https://s3.example.org' }),
  ],
])('BLOB_URL %p is %j', (value, place) => {
  expect(settingsOf({ BLOB_URL: value }, 'tool').BLOB_URL).toMatchObject(place);
});

const FOLDER = 'https://example.org/blobs file://host/blobs file:// file: redis://other:6379 gs://bucket'.split(' ');
const BUCKET =
  's3:·s3://·s3://files·s3://Files?region=x·s3://files/a b?region=x·s3://files/a//b?region=x·s3://files?region=·s3://files?region=x&acl=public·s3://files?endpoint=ftp://host·s3://files?endpoint=https://key:secret@host'.split(
    '·',
  );

test.each([
  ...FOLDER.map((value) => [value, /^BLOB_URL is malformed: expected file:\/\/\/.* or redis:$/] as const),
  ...BUCKET.map((value) => [value, /^BLOB_URL is malformed: expected s3:\/\/bucket or .*endpoint/] as const),
  // Keys are not shown.
  ['s3://AKIAKEY:secret-word@files?region=x', /^(?!.*secret-word).*AWS_SECRET_ACCESS_KEY/s] as const,
])('BLOB_URL %s is malformed, and the problem says what is expected', (value, problem) => {
  expect(problemsOf({ BLOB_URL: value }, 'tool')).toEqual([expect.stringMatching(problem)]);
});
