import { graphemePrefix } from '../../shared/base/text.ts';
import type { FileProblem } from '../../shared/texts/language.ts';
import { type Block, nameInBrackets, sizeInWords } from '../model/block.ts';
import { readPdf } from '../model/media-header.ts';
import { fitPicture, readPdfPages } from './decoding.ts';
import { kindOf } from './kind.ts';
import { mediaId } from './store.ts';

/** A file as a block of the session's log, or why it is unreadable. Store `bytesToStore`, if any, before the block. */
export type Attachment = { ok: true; block: Block; bytesToStore?: Buffer } | { ok: false; notice: FileProblem };

/**
 * Turns a file that a user sent into a block. The block of a picture or a PDF refers to its stored bytes. The block of a text
 * contains the text; if the text is long, only its beginning, and a reference to the whole text. The bytes alone decide the
 * kind of the file; the name is only for the model.
 *
 * Contract: never rejects because of the bytes, but rejects, as `fitPicture` does, if no decoder can be started. The same bytes
 * with the same name give the same block.
 */
export async function readAttachment(
  bytes: Buffer,
  name: string | undefined,
  limits: { textMaxChars: number; pdfPagesMax: number },
): Promise<Attachment> {
  const content = kindOf(bytes);
  switch (content.kind) {
    case 'empty':
      return unreadable('empty');
    case 'picture':
      return readPicture(bytes);
    case 'pdf':
      return readPages(bytes, name, limits.pdfPagesMax);
    case 'text':
      return readText(content.text, bytes.length, name, limits.textMaxChars);
    case 'other':
      return unreadable('other_kind');
  }
}

async function readPicture(bytes: Buffer): Promise<Attachment> {
  const picture = await fitPicture(bytes);
  if (!picture.ok) return unreadable(picture.why);
  const { bytes: bytesToStore, mediaType, width, height } = picture;
  const source = { ...storedSource(bytesToStore, mediaType), width, height };
  return { ok: true, block: { type: 'image', source }, bytesToStore };
}

async function readPages(bytes: Buffer, name: string | undefined, pagesMax: number): Promise<Attachment> {
  // Refuse a bad file here. In the session, it would make the endpoint refuse each later request.
  const header = readPdf(bytes);
  if (header === undefined) return unreadable('broken_pdf');
  if (header.encrypted) return unreadable('locked_pdf');
  if (header.pages > pagesMax) return unreadable('too_many_pages');
  const reading = await readPdfPages(bytes);
  if (!reading.ok) return unreadable(reading.why);
  const { pages } = reading;
  if (pages < 1) return unreadable('broken_pdf');
  if (pages > pagesMax) return unreadable('too_many_pages');
  const source = { ...storedSource(bytes, 'application/pdf'), pages };
  return { ok: true, block: { type: 'document', source, ...(name && { title: name }) }, bytesToStore: bytes };
}

function readText(text: string, bytes: number, name: string | undefined, maxChars: number): Attachment {
  const title = name ? nameInBrackets(name) : '';
  const opening = `[Document${title && ` ${title}`}, ${sizeInWords(bytes)}]`;
  if (text.length <= maxChars) return { ok: true, block: { type: 'text', text: `${opening}\n${text}` } };
  const bytesToStore = Buffer.from(text);
  const head = graphemePrefix(text, maxChars);
  const from = JSON.stringify({ ref: mediaId(bytesToStore), from: head.length });
  const marker = `[document cut: ${text.length} characters in all; the tool "recall" reads on with ${from}]`;
  return { ok: true, block: { type: 'text', text: `${opening}\n${head}\n${marker}` }, bytesToStore };
}

/** The name in the first line of a document's text; undefined if the text is not a document or has no name. */
export function documentNameIn(text: string): string | undefined {
  return /^\[Document ([^\]\n]{1,200}), [\d.,]+ [A-Za-z]+\]\n/.exec(text)?.[1];
}

function storedSource(bytes: Buffer, mediaType: string) {
  return { type: 'kept', sha256: mediaId(bytes), media_type: mediaType, bytes: bytes.length };
}

function unreadable(notice: FileProblem): Attachment {
  return { ok: false, notice };
}
