import { getDocumentProxy } from 'unpdf';
import type { FileProblem } from '../../shared/texts/texts.ts';

/** How many pages a PDF has, with the texts of the first of them, or why that is unknown. */
export type PdfReading =
  | { ok: true; pages: number; texts: readonly string[] }
  | { ok: false; why: Extract<FileProblem, 'broken_pdf' | 'locked_pdf'> };

const ERRORS_ONLY = 0;

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>;

/**
 * Counts the pages of a PDF, including those in compressed streams, and reads the text of the first pages, in whole pages
 * of at most `charsMax` characters together. A hostile file can take any memory, and keep the parser busy without end, so
 * this runs in the decoder (`decoder.ts`).
 *
 * Contract: never rejects.
 */
export async function readPdf(bytes: Buffer, charsMax: number): Promise<PdfReading> {
  try {
    const pdf = await getDocumentProxy(new Uint8Array(bytes), { verbosity: ERRORS_ONLY });
    return { ok: true, pages: pdf.numPages, texts: await textsOf(pdf, charsMax) };
  } catch (error) {
    return { ok: false, why: (error as Error).name === 'PasswordException' ? 'locked_pdf' : 'broken_pdf' };
  }
}

/** The texts of the first pages, as many whole pages as fit. */
async function textsOf(pdf: Pdf, charsMax: number): Promise<string[]> {
  const texts: string[] = [];
  let chars = 0;
  for (let number = 1; number <= pdf.numPages && charsMax > 0; number++) {
    const { items } = await (await pdf.getPage(number)).getTextContent();
    const text = items.map((item) => ('str' in item ? `${item.str}${item.hasEOL ? '\n' : ''}` : '')).join('');
    chars += text.length;
    if (chars > charsMax) break;
    texts.push(text.trim());
  }
  return texts;
}
