import { badRequest } from './refusal.ts';

/** A bot downloads at most this much; the API refuses to name a path for more. */
const DOWNLOAD_BYTES_MAX = 20 * 1024 * 1024;

interface StoredFile {
  readonly path: string;
  readonly bytes: Buffer;
  readonly statedBytes: number;
}

/** Files that users sent. */
export class Files {
  readonly #files = new Map<string, StoredFile>();

  /** Stores a file and answers its id. `statedBytes` lets a small file pose as a large one. */
  add(bytes: Buffer, path?: string, statedBytes = bytes.length): string {
    const id = `file-${this.#files.size + 1}`;
    this.#files.set(id, { path: path ?? `documents/${id}`, bytes, statedBytes });
    return id;
  }

  /** What getFile answers. */
  describe(id: string): Record<string, unknown> {
    const file = this.#files.get(id);
    if (file === undefined) throw badRequest('wrong file_id or the file is temporarily unavailable');
    if (file.statedBytes > DOWNLOAD_BYTES_MAX) throw badRequest('file is too big');
    return { file_id: id, file_unique_id: `u-${id}`, file_size: file.statedBytes, file_path: file.path };
  }

  /** The bytes behind a path, if there are any. */
  download(path: string): Buffer | undefined {
    for (const file of this.#files.values()) if (file.path === path) return file.bytes;
    return undefined;
  }
}
