import type { Settings } from '../../shared/base/settings.ts';

/** The definition of a tool that the provider runs itself, in the form of the Messages API. */
export interface ServerTool {
  type: string;
  name: string;
  [key: string]: unknown;
}

/** The maximum number of uses of a tool in one request. An answer in a chat needs few, and each search costs money. */
const USES_MAX = 5;
/** The maximum number of tokens of one fetched page, so that five pages fill only half of a window of 200,000 tokens. */
const PAGE_TOKENS_MAX = 20_000;

/**
 * The provider's web tools that the settings enable, in a stable order because tools are part of every request's prefix. The
 * model may call these tools only directly, not from code that it writes: older models cannot call tools from code, and the
 * answer would contain blocks of code. Pure.
 */
export function serverTools(settings: Pick<Settings, 'WEB_SEARCH' | 'WEB_FETCH'>): readonly ServerTool[] {
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
  return [...(settings.WEB_SEARCH ? [search] : []), ...(settings.WEB_FETCH ? [fetch] : [])];
}
