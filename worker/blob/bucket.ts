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

/** An object of a bucket, with the time of its last put by the server's clock, to the second. */
interface StoredObject {
  key: string;
  putMs: number;
}

/**
 * The objects of a bucket, by their whole names.
 *
 * Contract: each method may be repeated. Each rejects with `BlobStoreError` when the server cannot be used just now,
 * after a few tries and never later than about a minute. The errors hold no keys and no signatures.
 */
export interface Bucket {
  /** When it resolves, the server has confirmed these bytes: it compared them with their SHA-256, in hex. */
  put(key: string, bytes: Buffer, sha256: string): Promise<void>;
  /** Puts an object only where there is none of that name; returns whether it did. */
  putNew(key: string, bytes: Buffer): Promise<boolean>;
  get(key: string): Promise<Buffer | undefined>;
  /** An object that is gone is no failure. */
  delete(key: string): Promise<void>;
  /** The objects whose names begin with a prefix, page by page. */
  list(prefix: string): AsyncIterable<readonly StoredObject[]>;
}

/** A server that says nothing for so long is given up. */
const SILENT_MS = 15_000;
const CONNECT_MS = 5_000;
const TRIES = 3;
/** All tries of an operation together. */
const OPERATION_MS = 60_000;
const GONE = new Set(['NoSuchKey', 'NotFound']);

/**
 * Opens a bucket with the provider's own client, which finds its keys as all of its tools do: in the environment
 * (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`), a profile, or the role of the machine. Nothing is
 * sent yet.
 */
export function openBucket({ bucket: Bucket, endpoint, region }: Omit<BucketPlace, 'kind' | 'prefix'>): Bucket {
  const client = new S3Client({
    region,
    // Servers of others are rarely reached by a name for each bucket.
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    maxAttempts: TRIES,
    requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: SILENT_MS },
    // Ours is sent with each put; many servers do not know the client's own, and a read is compared with its name.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  const at = { client, Bucket };
  return {
    put: (Key, Body, sha256) => inBucket(() => putWhole(at, Key, Body, sha256)),
    putNew: (Key, Body) => inBucket(() => putNew(at, Key, Body)),
    get: (Key) => inBucket(() => getWhole(at, Key)),
    delete: (Key) => inBucket(async () => void (await client.send(new DeleteObjectCommand({ Bucket, Key }), late()))),
    list: (prefix) => pagesOf(at, prefix),
  };
}

interface At {
  client: S3Client;
  Bucket: string;
}

/** The end of an operation that begins now. */
const late = () => ({ abortSignal: AbortSignal.timeout(OPERATION_MS) });

async function putWhole({ client, Bucket }: At, Key: string, Body: Buffer, sha256: string): Promise<void> {
  const ChecksumSHA256 = Buffer.from(sha256, 'hex').toString('base64');
  await client.send(new PutObjectCommand({ Bucket, Key, Body, ChecksumSHA256 }), late());
}

async function putNew({ client, Bucket }: At, Key: string, Body: Buffer): Promise<boolean> {
  try {
    await client.send(new PutObjectCommand({ Bucket, Key, Body, IfNoneMatch: '*' }), late());
    return true;
  } catch (error) {
    // Another one is there, or is being put at this moment.
    if (statusOf(error) === 412 || statusOf(error) === 409) return false;
    throw error;
  }
}

async function getWhole({ client, Bucket }: At, Key: string): Promise<Buffer | undefined> {
  try {
    const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }), late());
    return Buffer.from((await Body?.transformToByteArray()) ?? []);
  } catch (error) {
    if (error instanceof S3ServiceException && GONE.has(error.name)) return undefined;
    throw error;
  }
}

async function* pagesOf({ client, Bucket }: At, Prefix: string): AsyncGenerator<StoredObject[]> {
  for (let token: string | undefined; ; ) {
    const command = new ListObjectsV2Command({ Bucket, Prefix, ...(token && { ContinuationToken: token }) });
    const page = await inBucket(() => client.send(command, late()));
    yield (page.Contents ?? []).map(({ Key = '', LastModified }) => ({
      key: Key,
      putMs: LastModified?.getTime() ?? 0,
    }));
    if (!page.IsTruncated) return;
    token = page.NextContinuationToken;
  }
}

/** Makes of whatever goes wrong an error of the store, in words that hold nothing of the request. */
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

/** The server's name for it, as AccessDenied, or the system's, as ECONNREFUSED. */
function codeOf(error: unknown): string {
  const { name, code, cause } = error as NodeJS.ErrnoException;
  if (error instanceof S3ServiceException) return name;
  const ofTheSystem = code ?? (cause as NodeJS.ErrnoException | undefined)?.code;
  return typeof ofTheSystem === 'string' ? ofTheSystem : name;
}

function statusOf(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
}
