/** Answers of a model that searches the web, or reads a page, with the tools of its server. */
import { createHash } from 'node:crypto';
import type { AnswerReaction } from './reaction.ts';
import type { Block } from './request.ts';

export interface Found {
  readonly url: string;
  readonly title: string;
}

export interface Search {
  readonly id: string;
  readonly query: string;
  readonly found: readonly Found[];
}

const caller = { type: 'direct' };

const sealed = (...parts: string[]): string => createHash('sha512').update(parts.join('\n')).digest('base64');
const serverCall = (id: string, name: string, input: object): Block => {
  return { type: 'server_tool_use', id, name, input, caller };
};
const answered = (content: Block[], stopReason = 'end_turn'): AnswerReaction => ({ do: 'answer', content, stopReason });

const searchCall = ({ id, query }: Search): Block => serverCall(id, 'web_search', { query });

const searchResult = ({ id, query, found }: Search): Block => ({
  type: 'web_search_tool_result',
  tool_use_id: id,
  caller,
  content: found.map(({ url, title }) => {
    const encrypted_content = sealed(id, query, url);
    return { type: 'web_search_result', url, title, page_age: null, encrypted_content };
  }),
});

export const citing = (text: string, { id, found }: Search): Block => ({
  type: 'text',
  text,
  citations: found.map(({ url, title }) => {
    const cited_text = text.slice(0, 80).toWellFormed();
    return { type: 'web_search_result_location', url, title, encrypted_index: sealed(id, url), cited_text };
  }),
});

/** An answer that searches so many times, each search by an id of its own, and then says something. */
export function searchedOften(times: number, search: Search, text: string): AnswerReaction {
  const searches = Array.from({ length: times }, (_, at) => ({ ...search, id: `${search.id}_${at}` }));
  const content = [...searches.flatMap((each) => [searchCall(each), searchResult(each)]), citing(text, search)];
  return { ...answered(content), usage: { server_tool_use: { web_search_requests: times, web_fetch_requests: 0 } } };
}

export const searched = (search: Search, text: string): AnswerReaction => searchedOften(1, search, text);

/** A turn that pauses, before its search has a result or after it; it goes on when it comes back as it is. */
export function paused(search: Search, at: 'call' | 'result' = 'result'): AnswerReaction {
  const result = at === 'call' ? [] : [searchResult(search)];
  return answered([searchCall(search), ...result], 'pause_turn');
}

/** The rest of a turn that was paused at the call of its search. */
export const resumed = (search: Search, text: string): AnswerReaction =>
  answered([searchResult(search), citing(text, search)]);

/** A turn that waits for a tool of the client and for a search: the result of the search comes in the next answer. */
export const mixed = (search: Search, call: Block): AnswerReaction => answered([searchCall(search), call], 'tool_use');

/** A search whose answer was cut before its result. */
export const searchCut = (search: Search, text: string): AnswerReaction =>
  answered([{ type: 'text', text }, searchCall(search)], 'max_tokens');

/** A page that was read, and a text about it that cites it: with the key `file_id`, which the API writes and refuses. */
export function fetched(id: string, { url, title }: Found, page: string, text: string): AnswerReaction {
  const source = { type: 'text', media_type: 'text/plain', data: page };
  const document = { type: 'document', source, title, citations: null };
  const result = { type: 'web_fetch_result', url, retrieved_at: '2026-11-01T00:00:00Z', content: document };
  const place = { document_index: 0, document_title: title, start_char_index: 0, end_char_index: page.length };
  const citation = { type: 'char_location', cited_text: page, ...place, file_id: null };
  const content = [
    serverCall(id, 'web_fetch', { url }),
    { type: 'web_fetch_tool_result', tool_use_id: id, caller, content: result },
    { type: 'text', text, citations: [citation] },
  ];
  return { ...answered(content), usage: { server_tool_use: { web_search_requests: 0, web_fetch_requests: 1 } } };
}
