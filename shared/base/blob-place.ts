import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { HOME } from './project.ts';

/** The place that stores the bytes of files and archives: a folder, a bucket of an S3-compatible store, or Redis itself. */
export type BlobPlace = { readonly kind: 'files'; readonly folder: string } | BucketPlace | { readonly kind: 'redis' };

/** A bucket and a prefix in it, without credentials, because the S3 client reads the credentials from the environment. */
export interface BucketPlace {
  readonly kind: 's3';
  readonly bucket: string;
  /** The beginning of the names of our objects: empty, or a path with a slash at its end. */
  readonly prefix: string;
  /** The URL of the server; `undefined` for Amazon S3 itself. */
  readonly endpoint: string | undefined;
  readonly region: string;
}

const EXPECTED =
  'expected file:///an/absolute/folder, a folder relative to the project such as data/blobs, s3://bucket/prefix?region=…, or redis:';
const EXPECTED_S3 =
  'expected s3://bucket or s3://bucket/prefix, with ?region=… for Amazon, or ?endpoint=https://… for another server';
const NO_KEYS = 'the keys of s3:// belong into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY';
const BUCKET = /^[a-z\d][a-z\d.-]{1,61}[a-z\d]$/;
const PREFIX = /^(?:[\w.-]+\/)*$/;
/** The region if the setting names a server but no region: the S3 client needs a region for every server. */
const ANY_REGION = 'us-east-1';

/** The form of `BLOB_URL`. The path of a folder may be relative to `HOME`. */
export const blobPlace = z.string().transform((text, context): BlobPlace => {
  const place = placeOf(text.trim());
  if (typeof place !== 'string') return place;
  context.addIssue({ code: 'custom', message: place });
  return z.NEVER;
});

/** Parses a place. If the text is malformed, returns a description of the problem. */
function placeOf(text: string): BlobPlace | string {
  if (/^redis:(?:\/\/)?$/.test(text)) return { kind: 'redis' };
  if (text.startsWith('s3:')) return URL.canParse(text) ? bucketOf(new URL(text)) : EXPECTED_S3;
  if (/^file:\/\//.test(text)) return /^file:\/\/\/[^/]/.test(text) ? folderAt(text) : EXPECTED;
  const folder = text.replace(/^file:/, '');
  if (folder === '' || folder.includes('\0') || /^[a-z][a-z\d+.-]*:/i.test(folder)) return EXPECTED;
  return { kind: 'files', folder: resolve(HOME, folder) };
}

function folderAt(url: string): BlobPlace | string {
  try {
    return { kind: 'files', folder: fileURLToPath(url) };
  } catch {
    return EXPECTED;
  }
}

function bucketOf({ username, password, host, pathname, searchParams, hash }: URL): BucketPlace | string {
  if (username !== '' || password !== '') return NO_KEYS;
  const prefix = pathname.replace(/^\/+|\/+$/g, '').replace(/.$/, '$&/');
  const { endpoint, region, ...others } = Object.fromEntries(searchParams);
  const isNamed = BUCKET.test(host) && PREFIX.test(prefix) && hash === '' && Object.keys(others).length === 0;
  const isPlaced = endpoint === undefined ? region !== undefined : isHttp(endpoint);
  if (!isNamed || !isPlaced || region === '') return EXPECTED_S3;
  return { kind: 's3', bucket: host, prefix, endpoint, region: region ?? ANY_REGION };
}

/** Whether a text is an http(s) URL without a user, a password or a query: operators see the URL, so it must hold no secret. */
function isHttp(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search } = new URL(text);
  return /^https?:$/.test(protocol) && username === '' && password === '' && search === '';
}
