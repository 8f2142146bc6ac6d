import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import type { BucketPlace } from '../../shared/base/blob-place.ts';
import { BlobStoreError } from './blobs.ts';

/** An object of a bucket, with the time of its last put according to the server's clock, to the second. */
interface StoredObject {
  key: string;
  putMs: number;
}

export type Bucket = ReturnType<typeof openBucket>;

/** A request fails if the server sends nothing for this long. */
const SILENT_MS = 15_000;
const CONNECT_MS = 5_000;
const TRIES = 3;
/** The time for all tries of an operation together. */
const OPERATION_MS = 60_000;
const GONE = new Set(['NoSuchKey', 'NotFound']);

/**
 * Opens a bucket with Amazon's own client, which finds its access keys as all of Amazon's tools do: in the environment
 * (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`), a profile, or the machine's role. Sends nothing yet.
 *
 * Contract: each method may be repeated. Each rejects with `BlobStoreError` if the server is unusable, after a few tries and
 * about a minute at most; in `list`, this applies to each page. The errors contain no access keys and no signatures.
 */
export function openBucket({ bucket: Bucket, endpoint, region }: Omit<BucketPlace, 'kind' | 'prefix'>) {
  const client = new S3Client({
    region,
    // Servers other than Amazon's rarely have a host name for each bucket.
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    maxAttempts: TRIES,
    requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: SILENT_MS },
    // `put` sends its own SHA-256, and reads of blobs are verified. Many servers do not know the checksums of the client.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  const target = { client, Bucket };
  return {
    /** Stores an object. Before this resolves, the server has compared the bytes with `sha256` (in hex). */
    put: (Key: string, Body: Buffer, sha256: string) => inBucket(() => putWhole(target, Key, Body, sha256)),
    /** Stores an object unless an object of that name exists or is being stored. Returns whether it stored the object. */
    putNew: (Key: string, Body: Buffer) => inBucket(() => putNew(target, Key, Body)),
    get: (Key: string) => inBucket(() => getWhole(target, Key)),
    /** Deletes an object. A missing object is not a failure. */
    delete: (Key: string) =>
      inBucket(async () => void (await client.send(new DeleteObjectCommand({ Bucket, Key }), deadline()))),
    /** The objects whose names begin with a prefix, page by page. */
    list: (prefix: string) => pagesOf(target, prefix),
  };
}

interface Target {
  client: S3Client;
  Bucket: string;
}

/** The options that abort an operation `OPERATION_MS` from now. */
const deadline = () => ({ abortSignal: AbortSignal.timeout(OPERATION_MS) });

async function putWhole({ client, Bucket }: Target, Key: string, Body: Buffer, sha256: string): Promise<void> {
  const ChecksumSHA256 = Buffer.from(sha256, 'hex').toString('base64');
  await client.send(new PutObjectCommand({ Bucket, Key, Body, ChecksumSHA256 }), deadline());
}

async function putNew({ client, Bucket }: Target, Key: string, Body: Buffer): Promise<boolean> {
  try {
    await client.send(new PutObjectCommand({ Bucket, Key, Body, IfNoneMatch: '*' }), deadline());
    return true;
  } catch (error) {
    // The object exists, or another process is storing it at this moment.
    if (statusOf(error) === 412 || statusOf(error) === 409) return false;
    throw error;
  }
}

async function getWhole({ client, Bucket }: Target, Key: string): Promise<Buffer | undefined> {
  try {
    const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }), deadline());
    return Buffer.from((await Body?.transformToByteArray()) ?? []);
  } catch (error) {
    if (error instanceof S3ServiceException && GONE.has(error.name)) return undefined;
    throw error;
  }
}

async function* pagesOf({ client, Bucket }: Target, Prefix: string): AsyncGenerator<StoredObject[]> {
  for (let token: string | undefined; ; ) {
    const command = new ListObjectsV2Command({ Bucket, Prefix, ...(token && { ContinuationToken: token }) });
    const page = await inBucket(() => client.send(command, deadline()));
    yield (page.Contents ?? []).map(({ Key = '', LastModified }) => ({
      key: Key,
      putMs: LastModified?.getTime() ?? 0,
    }));
    if (!page.IsTruncated) return;
    token = page.NextContinuationToken;
  }
}

/** Turns any error into a `BlobStoreError` without any part of the request, such as a signature. */
async function inBucket<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const code = codeOf(error);
    const status = statusOf(error);
    throw new BlobStoreError(
      Object.assign(new Error(status === undefined ? code : `${code}, status ${status}`), { code }),
    );
  }
}

/** The server's name for an error, such as AccessDenied, or the system's, such as ECONNREFUSED; else the error's own name. */
function codeOf(error: unknown): string {
  const { name, code, cause } = error as NodeJS.ErrnoException;
  if (error instanceof S3ServiceException) return name;
  const systemCode = code ?? (cause as NodeJS.ErrnoException | undefined)?.code;
  return typeof systemCode === 'string' ? systemCode : name;
}

function statusOf(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
}
