/** Answers of a model that searches the web, or reads a page, with the tools of its server. */
import { createHash } from 'node:crypto';
import type { Reaction } from './reaction.ts';
import type { Block } from './request.ts';

type AnswerReaction = Extract<Reaction, { do: 'answer' }>;

/** A page that a search finds. */
export interface Found {
  readonly url: string;
  readonly title: string;
}

/** One search, by its own id. */
export interface Search {
  readonly id: string;
  readonly query: string;
  readonly found: readonly Found[];
}

const DIRECT = { type: 'direct' };
const SERVED = { web_search_requests: 0, web_fetch_requests: 0 };

const sealed = (...parts: string[]): string => createHash('sha512').update(parts.join('\n')).digest('base64');

/** The call of a search. */
export const searchCall = ({ id, query }: Search): Block => ({
  type: 'server_tool_use',
  id,
  name: 'web_search',
  input: { query },
  caller: DIRECT,
});

/** What a search has found, sealed for the model. */
export const searchResult = ({ id, query, found }: Search): Block => ({
  type: 'web_search_tool_result',
  tool_use_id: id,
  caller: DIRECT,
  content: found.map(({ url, title }) => ({
    type: 'web_search_result',
    url,
    title,
    page_age: null,
    encrypted_content: sealed(id, query, url),
  })),
});

/** A text that cites what was found. */
export const citing = (text: string, { id, found }: Search): Block => ({
  type: 'text',
  text,
  citations: found.map(({ url, title }) => ({
    type: 'web_search_result_location',
    url,
    title,
    encrypted_index: sealed(id, url),
    cited_text: text.slice(0, 80).toWellFormed(),
  })),
});

/** A whole answer: the search, its result, and a text that cites it. */
export function searched(search: Search, text: string): AnswerReaction {
  return {
    do: 'answer',
    content: [searchCall(search), searchResult(search), citing(text, search)],
    stopReason: 'end_turn',
    usage: { server_tool_use: { ...SERVED, web_search_requests: 1 } },
  };
}

/** An answer that searches so many times, each search by an id of its own, and then says something. */
export function searchedOften(times: number, search: Search, text: string): AnswerReaction {
  const searches = Array.from({ length: times }, (_, at) => ({ ...search, id: `${search.id}_${at}` }));
  return {
    do: 'answer',
    content: [...searches.flatMap((each) => [searchCall(each), searchResult(each)]), citing(text, search)],
    stopReason: 'end_turn',
    usage: { server_tool_use: { ...SERVED, web_search_requests: times } },
  };
}

/** A turn that pauses, before its search has a result or after it; it goes on when it comes back as it is. */
export function paused(search: Search, at: 'call' | 'result' = 'result'): AnswerReaction {
  const content = at === 'call' ? [searchCall(search)] : [searchCall(search), searchResult(search)];
  return { do: 'answer', content, stopReason: 'pause_turn' };
}

/** The rest of a turn that was paused at the call of its search. */
export function resumed(search: Search, text: string): AnswerReaction {
  return { do: 'answer', content: [searchResult(search), citing(text, search)], stopReason: 'end_turn' };
}

/** A turn that waits for a tool of the client and for a search: the result of the search comes in the next answer. */
export function mixed(search: Search, call: Block): AnswerReaction {
  return { do: 'answer', content: [searchCall(search), call], stopReason: 'tool_use' };
}

/** A search whose answer was cut before its result. */
export function searchCut(search: Search, text: string): AnswerReaction {
  return { do: 'answer', content: [{ type: 'text', text }, searchCall(search)], stopReason: 'max_tokens' };
}

/** A search that failed: an error in the place of its result, in an answer that is none. */
export function searchFailed(search: Search, errorCode: string, text: string): AnswerReaction {
  const content = { type: 'web_search_tool_result_error', error_code: errorCode };
  return {
    do: 'answer',
    content: [searchCall(search), { ...searchResult(search), content }, { type: 'text', text }],
    stopReason: 'end_turn',
  };
}

/** A place in a page, with the key that the API writes and refuses. */
const citedFrom = (page: string, title: string): object => ({
  type: 'char_location',
  cited_text: page.slice(0, 80).toWellFormed(),
  document_index: 0,
  document_title: title,
  start_char_index: 0,
  end_char_index: Math.min(80, page.length),
  file_id: null,
});

/** A page that was read, and a text about it that cites it. */
export function fetched(id: string, { url, title }: Found, page: string, text: string): AnswerReaction {
  const source = { type: 'text', media_type: 'text/plain', data: page };
  const document = { type: 'document', source, title, citations: null };
  const content = { type: 'web_fetch_result', url, retrieved_at: '2026-11-01T00:00:00Z', content: document };
  return {
    do: 'answer',
    content: [
      { type: 'server_tool_use', id, name: 'web_fetch', input: { url }, caller: DIRECT },
      { type: 'web_fetch_tool_result', tool_use_id: id, caller: DIRECT, content },
      { type: 'text', text, citations: [citedFrom(page, title)] },
    ],
    stopReason: 'end_turn',
    usage: { server_tool_use: { ...SERVED, web_fetch_requests: 1 } },
  };
}
