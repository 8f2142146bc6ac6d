/** What a rough scan of a PDF shows. */
export interface PdfHeader {
  /** At least 1. Compressed pages are not seen. */
  pages: number;
  encrypted: boolean;
}

const TOKENS = /\/Type\s*\/(Pages?)(?![A-Za-z])|\/Count\s+(\d+)|\/Encrypt(?![A-Za-z])|endobj/g;
const MAGIC_WITHIN_BYTES = 1024;

/**
 * Counts a PDF's pages: by its page tree, else by its page objects. A count is used only inside an object of the page
 * tree, since outlines have counts of their own. The tree comes first, since an edited file keeps the old page objects
 * beside the new ones. Undefined when the bytes are not a PDF. Total, and linear.
 */
export function readPdf(bytes: Buffer): PdfHeader | undefined {
  if (!bytes.toString('latin1', 0, MAGIC_WITHIN_BYTES).includes('%PDF-')) return undefined;
  let leaves = 0;
  let tree = 0;
  let encrypted = false;
  let inTree = false;
  let count = 0;
  const closeObject = (): void => {
    if (inTree) tree = Math.max(tree, count);
    inTree = false;
    count = 0;
  };
  for (const [token, kind, digits] of bytes.toString('latin1').matchAll(TOKENS)) {
    if (kind === 'Page') leaves += 1;
    else if (kind === 'Pages') inTree = true;
    else if (digits !== undefined) count = Math.max(count, Number(digits));
    else if (token === 'endobj') closeObject();
    else encrypted = true;
  }
  closeObject();
  return { pages: Math.max(1, tree > 0 ? tree : leaves), encrypted };
}
