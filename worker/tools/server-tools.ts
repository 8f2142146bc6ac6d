import type { Settings } from '../../shared/base/settings.ts';

/** A tool that the provider runs itself, as the Messages API takes it. */
export interface ServerTool {
  type: string;
  name: string;
  [key: string]: unknown;
}

/** The most uses of a tool in a request: an answer to a chat needs few, and each search costs money. */
const USES_MAX = 5;
/** The most tokens of a page, so that five pages leave most of a window of 200,000. */
const PAGE_TOKENS_MAX = 20_000;

/**
 * The provider's tools for the web, in a stable order, since they are part of every request's prefix. Pure. The model may only
 * call them directly, not from code that it writes: older models cannot do that, and the answer would have blocks of code.
 */
export function serverTools({
  WEB_SEARCH,
  WEB_FETCH,
}: Pick<Settings, 'WEB_SEARCH' | 'WEB_FETCH'>): readonly ServerTool[] {
  const search = {
    type: 'web_search_20260318',
    name: 'web_search',
    max_uses: USES_MAX,
    allowed_callers: ['direct'],
  };
  const fetch = {
    type: 'web_fetch_20260318',
    name: 'web_fetch',
    max_uses: USES_MAX,
    max_content_tokens: PAGE_TOKENS_MAX,
    citations: { enabled: true },
    allowed_callers: ['direct'],
  };
  return [...(WEB_SEARCH ? [search] : []), ...(WEB_FETCH ? [fetch] : [])];
}
