import { BlobStoreError, type Blobs } from './blobs.ts';

/** Blobs whose trouble is told to `onTrouble`, besides whoever asked. */
export function reportedBlobs(blobs: Blobs, onTrouble: (error: BlobStoreError) => void): Blobs {
  const told = async <Result>(work: Promise<Result>): Promise<Result> => {
    try {
      return await work;
    } catch (error) {
      if (error instanceof BlobStoreError) onTrouble(error);
      throw error;
    }
  };
  return {
    ...blobs,
    put: (owner, bytes) => told(blobs.put(owner, bytes)),
    get: (owner, sha256) => told(blobs.get(owner, sha256)),
  };
}
