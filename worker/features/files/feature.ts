import { graphemePrefix } from '../../../shared/base/text.ts';
import type { FilePart } from '../../../shared/flow/reply.ts';
import { FencedError } from '../../../shared/state/change.ts';
import { FILES_MAX, type NotedFiles, notedFiles } from '../../../shared/state/turn/noted-files.ts';
import type { Turn } from '../../../shared/state/turn/turn.ts';
import type { Feature } from '../../feature.ts';
import type { MediaStore } from '../../media/store.ts';
import { fileKind } from '../../reply/part.ts';
import { isGiven, type Toolbox, type ToolSpec, toolError, toolText } from '../../tools/toolbox.ts';

const TEXT_BYTES_MAX = 1_000_000;
/** How long a file's text is stored, so that an answer can wait for its delivery, or a dead letter for its replay. */
const KEEP_SECONDS = 7 * 24 * 3_600;
const REF = /^[0-9a-f]{64}$/;

const SPEC: ToolSpec = {
  name: 'send_file',
  description: `Sends a file with your answer, below its text: code, CSV, Markdown or any other text that people want to keep, or a picture or audio of a tool's result, which people then see or hear in the chat; pictures in a row as an album. Give either "content" or "ref". At most ${FILES_MAX} files an answer. The file goes out when you answer, so do not repeat in the answer what it holds.`,
  inputSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'Name with extension, such as "table.csv", without a folder.' },
      content: { type: 'string', description: 'The text of the file, at most 1 MB.' },
      ref: { type: 'string', description: 'The reference of kept bytes, as a tool result states it: 64 hex digits.' },
    },
    required: ['name'],
    additionalProperties: false,
  },
  repeatable: true,
};

type Source = { content: string } | { ref: string };

/**
 * The built-in tool `send_file`: makes a file a part of the reply. A call only stores the file in the turn; the stored files
 * join the reply when the turn concludes. A call that runs again after a crash does not store the file twice.
 */
function createSendFile(files: Pick<NotedFiles, 'note'>, media: Pick<MediaStore, 'keep' | 'load'>): Toolbox {
  const partOf = async ({ currentChat }: Turn, name: string, source: Source): Promise<FilePart | undefined> => {
    const part = { path: 'file', name } as const;
    if ('content' in source)
      return { ...part, sha256: await media.keep(currentChat, Buffer.from(source.content), KEEP_SECONDS) };
    const bytes = (await media.load(currentChat, [source.ref])).get(source.ref);
    if (bytes === undefined) return undefined;
    return { ...part, sha256: source.ref, ...(fileKind(name, bytes) === 'photo' && { isPicture: true }) };
  };
  const inOrder = createOrder();
  return {
    specs: () => [SPEC],
    async call({ id, name: tool, input, turn }) {
      if (tool !== SPEC.name) return toolError(`There is no tool ${tool} here.`);
      const name = typeof input.name === 'string' ? fileName(input.name) : undefined;
      if (name === undefined) return toolError('"name" must be a file name with an extension, such as "table.csv".');
      const source = sourceOf(input);
      if (typeof source === 'string') return toolError(source);
      return inOrder(turn, async () => {
        const part = await partOf(turn, name, source);
        if (part === undefined) return toolError('No bytes are kept under this reference (any more).');
        const reply = await files.note(turn, id, part);
        if (reply === 'fenced') throw new FencedError();
        if (reply === 'full') return toolError(`An answer can bring at most ${FILES_MAX} files: this one is not sent.`);
        return toolText(`"${name}" will be sent with your answer.`);
      });
    },
  };
}

/** Creates a queue for the calls of each attempt, so that no small file overtakes a large one requested before it. */
function createOrder() {
  const last = new WeakMap<Turn, Promise<unknown>>();
  return <Result>(turn: Turn, work: () => Promise<Result>): Promise<Result> => {
    const result = (last.get(turn) ?? Promise.resolve()).then(work, work);
    last.set(turn, result);
    return result;
  };
}

/** The source of the bytes, or an error for the model. An empty field counts as absent: models fill in optional fields. */
function sourceOf({ content, ref }: Readonly<Record<string, unknown>>): Source | string {
  const [hasContent, hasRef] = [isGiven(content), isGiven(ref)];
  if (hasContent === hasRef) return 'Give either "content", which must not be empty, or "ref".';
  if (hasRef) {
    const isRef = typeof ref === 'string' && REF.test(ref);
    return isRef ? { ref } : '"ref" must be a reference as a tool result states it: 64 hex digits.';
  }
  if (typeof content !== 'string') return '"content" must be a text.';
  const text = content.toWellFormed();
  const bytes = Buffer.byteLength(text);
  if (bytes > TEXT_BYTES_MAX) return `"content" has ${bytes} bytes; a file can have at most ${TEXT_BYTES_MAX}.`;
  return { content: text };
}

/** The longest file name, in UTF-16 units. */
const NAME_CHARS_MAX = 64;
const EXTENSION = /^\.[A-Za-z0-9]{1,10}$/;
const SEPARATORS = /[\\/]/;
/** Control, format and private-use characters, line separators, lone surrogates, and characters that file systems refuse. */
const UNFIT = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}<>:"|?*]/gu;

/**
 * Makes a requested file name safe: without a path and without invisible or unfit characters, at most 64 characters including
 * the extension. Undefined if there is no extension, or nothing before it. Pure.
 */
export function fileName(requestedName: string): string | undefined {
  const last = requestedName.split(SEPARATORS).at(-1) ?? '';
  const plain = last.replace(UNFIT, '').replace(/\s+/gu, ' ').trim();
  const dot = plain.lastIndexOf('.');
  const [stem, extension] = [plain.slice(0, Math.max(0, dot)).replace(/^[.\s]+|[.\s]+$/gu, ''), plain.slice(dot)];
  if (dot < 1 || stem === '' || !EXTENSION.test(extension)) return undefined;
  return `${shorten(stem, NAME_CHARS_MAX - extension.length)}${extension}`;
}

function shorten(stem: string, charsMax: number): string {
  return stem.length <= charsMax ? stem : graphemePrefix(stem, charsMax).trimEnd();
}

/** Files that the model sends with its answer. The feature only stores them; other code makes them parts of the reply. */
export const filesFeature: Feature = {
  name: 'files',
  tools: ({ redis, keys, media }) => createSendFile(notedFiles(redis, keys), media),
};
