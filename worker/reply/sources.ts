import { isFields } from '../../shared/base/fields.ts';
import { clip } from '../../shared/base/text.ts';
import type { Block } from '../model/block.ts';

/** A page that an answer cites. */
export interface Source {
  /** The title on one line; without a title, the host of the address. */
  title: string;
  /** An http or https address. Spaces, quotation marks, and angle and round brackets are percent-encoded. */
  url: string;
}

const SOURCES_MAX = 8;
const TITLE_CHARS_MAX = 80;
const URL_CHARS_MAX = 500;
const CITATIONS_MAX = 1_000;
/** Characters and schemes that a reply's formats would read as markup or as another link. */
const MARKUP = /[[\]()<>*_`~|\\]|\w{1,20}:\/\//g;
const BLANKS = /[\s\p{Cc}\p{Cf}]{1,1000}/gu;

/**
 * The pages that the texts of an answer cite, each once, in the order of first citation, at most eight. A citation of a fetched
 * page has no address of its own, so it gets the address of the fetched page with the same title. Omits addresses that are not
 * http or https, contain credentials, or are too long to show. Pure, never throws.
 */
export function sourcesOf(content: readonly Block[]): Source[] {
  const addressByTitle = new Map(content.flatMap(fetchedPage));
  const citations = content.flatMap(({ type, citations }) =>
    type === 'text' && Array.isArray(citations) ? (citations as unknown[]) : [],
  );
  const sources = new Map<string, Source>();
  for (const citation of citations.slice(0, CITATIONS_MAX)) {
    if (!isFields(citation)) continue;
    const { url, source, title, document_title: page } = citation;
    const address = url ?? source ?? (typeof page === 'string' ? addressByTitle.get(page) : undefined);
    const found = sourceOf(address, title ?? page);
    if (found !== undefined && !sources.has(found.url)) sources.set(found.url, found);
    if (sources.size === SOURCES_MAX) break;
  }
  return [...sources.values()];
}

/** Appends a list of sources, if any, to a text. The addresses have no markup, since apps make links of them anyway. Pure. */
export function withSources(text: string, sources: readonly Source[]): string {
  const lines = sources.slice(0, SOURCES_MAX).flatMap(({ title, url }) => {
    const source = sourceOf(url, title);
    return source === undefined ? [] : `- ${source.title}: ${source.url}`;
  });
  return lines.length === 0 ? text : `${text.trimEnd()}\n\nSources:\n${lines.join('\n')}`;
}

function sourceOf(address: unknown, title: unknown): Source | undefined {
  if (typeof address !== 'string' || address.length > URL_CHARS_MAX) return undefined;
  const parts = URL.parse(address);
  if (parts === null || !/^https?:$/.test(parts.protocol) || parts.username !== '' || parts.password !== '') {
    return undefined;
  }
  const url = parts.href.replaceAll(/[()'"<>\\`|]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
  return url.length > URL_CHARS_MAX ? undefined : { title: titleOf(title, parts.host), url };
}

function titleOf(title: unknown, host: string): string {
  const text = typeof title === 'string' ? title.slice(0, 10 * TITLE_CHARS_MAX).toWellFormed() : '';
  const line = clip(text.replaceAll(MARKUP, ' ').replaceAll(BLANKS, ' ').trim(), TITLE_CHARS_MAX);
  return line === '' ? host : line;
}

/** The title and the address of the page in a result of the tool `web_fetch`; empty if the block does not have both. */
function fetchedPage({ type, content }: Block): [string, string][] {
  if (type !== 'web_fetch_tool_result' || !isFields(content) || !isFields(content.content)) return [];
  const { url } = content;
  const { title } = content.content;
  return typeof title === 'string' && typeof url === 'string' ? [[title, url]] : [];
}
