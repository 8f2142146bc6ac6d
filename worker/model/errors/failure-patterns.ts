import type { Rule } from './overflow-patterns.ts';

/** The only rule of its kind: one sentence matches all of it, such as the example. */
function saying(example: string, ...all: readonly RegExp[]): readonly Rule[] {
  return [{ example, all }];
}

/** A request that the API would reject again and again because its messages break the contract. */
export const STRUCTURE: readonly Rule[] = [
  {
    example: 'messages.0.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_01',
    all: [
      /tool ?(?:use|result|calls?|response)|function (?:call|response)/,
      /must|without|unexpected|not found|missing|correspond|prece+d|follow|immediately|unique|single result|mismatch|number of|no match|orphan|concurren/,
    ],
    none: /\d tokens|too (?:long|large)/,
  },
  {
    example: 'messages: text content blocks must be non-empty',
    all: [
      /\bmessages\b|\bcontent|\btext\b/,
      /non empty|non whitespace|(?:cannot|must not|can not) be empty|empty (?:text|content)|trailing whitespace/,
    ],
  },
  {
    example: 'messages: roles must alternate between "user" and "assistant"',
    all: [
      /roles? must|expected last role|(?:incorrect|unexpected) role|must use the user role|assistant message prefill|must (?:start|begin|end) with a user|only be in (?:user|assistant)|at least one message/,
    ],
  },
  {
    example: 'A maximum of 4 blocks with cache_control may be provided. Found 5.',
    all: [/cache control/, /maximum|cannot|must|ttl/],
  },
  {
    example: 'The request body is not valid JSON: no low surrogate in string: line 1 column 100 (char 99)',
    all: [/surrogate|body is not valid json|invalid (?:unicode|utf 8)|compaction block misplaced/],
  },
];

export const THINKING_SIGNATURE = saying(
  'Invalid `signature` in `thinking` block. The block is bound to a different conversation.',
  /thinking|thought|reasoning|encrypted content/,
  /signature|cannot be modified|must (?:start|be followed|remain)|bound to|expected thinking|could not be (?:verified|decrypted)|without its required/,
);

export const RATE_LIMITED: readonly Rule[] = [
  {
    example: 'Number of request tokens has exceeded your per-model limit',
    all: [
      /rate ?limit|requests? limit (?:exceeded|reached)|cooling down|too many requests|throttl|quota|per model limit|too many concurrent|concurren(?:t|cy) (?:requests?|connections?|limit)|resource exhausted|slow down|in flight requests|token bucket|token rate|\b(?:tpm|rpm|tpd|rpd|itpm|otpm|rph)\b|(?:\bper |\beach |\/ ?)(?:second|minute|min|hour|day|week|month)\b|(?:daily|monthly|weekly|hourly) (?:\w+ ){0,2}(?:limit|usage|cap)/,
    ],
  },
  {
    example: '请求过于频繁，已超过每分钟 token 限制',
    all: [
      /频率|速率|频繁|頻繁|限流|每分钟|每分鐘|每秒|每日|每天|配额|配額|额度|并发|次数|レート|毎分|分あたり|クォータ|속도 제한|분당|할당량|в минуту|квот|частот|pro minute|kontingent|ratenlimit|par minute|por minut|cuota|\bcota|d[ée]bit|al minuto/,
    ],
  },
];

/** Weaker than `RATE_LIMITED`: read only where nothing says that something is too large. */
export const TRY_LATER = saying(
  'Too many tokens, please wait before trying again.',
  /(?:please )?wait (?:a|before|and|for)|try again (?:later|in)|retry (?:after|in|later)/,
);

export const BILLING = saying(
  'Your credit balance is too low to access the Anthropic API.',
  /credit balance|insufficient (?:credit|fund|balance|quota)|out of (?:extra usage|credits?)|billing (?:hard |soft )?(?:limit|account|details|error|issue|problem)|payment required|spend(?:ing)? (?:limit|cap)|(?<!context |token )usage limits?\b|exceeded your current quota|余额|餘額|欠费|充值|средств/,
);

export const AUTHENTICATION = saying(
  '401 unauthorized: invalid api key',
  /authentication (?:error|failed)|unauthori[sz]ed|unauthenticated|(?:invalid|incorrect|missing|expired) (?:x )?(?:api key|bearer|access token|auth)|api key (?:not|is inv|inv|exp)|token (?:has )?expired|invalid authentication/,
);

export const PERMISSION = saying(
  'permission_error: your organization may not use this model',
  /permission (?:error|denied)|\bforbidden\b|access denied|not allowed to access/,
);

export const REFUSED = saying(
  'Output blocked by content filtering policy',
  /content (?:filter|polic|management)|usage polic|flagged|moderation|safety (?:system|settings|filter)/,
);

export const NOT_FOUND = saying(
  'not_found_error: model: claude-9',
  /not found error|model .{0,60}(?:not found|does not exist)|model not found|(?:no such|unknown) model|invalid model name/,
);

export const OVERLOADED = saying(
  '529 overloaded',
  /overload|(?:at|out of) capacity|capacity limits|high (?:load|demand)|is busy|compaction unavailable|繁忙|过载|负载|访问量/,
);

export const SERVER_ERROR = saying(
  'internal server error',
  /internal (?:server |database )?error|server (?:had an )?error|conflict error|service (?:is )?(?:temporarily )?unavailable|bad gateway|temporarily unavailable|crashed|^api error$|out of memory|系统|服务|内部错误/,
);

export const TIMED_OUT = saying(
  'Compaction failed: timed out waiting for codex app-server compaction',
  /timed? ?out\b|deadline exceeded|took too long|timedout|超时/,
);

export const CUT_STREAM = saying(
  'Anthropic stream ended before message_stop',
  /stream (?:read |ended|error|closed|was|interrupt|disconnect)|premature|^\W*terminated|without sending|unexpected (?:end of|eof)|incomplete chunked|received from peer|peer closed/,
);

export const NETWORK = saying(
  'connect ECONNREFUSED 127.0.0.1:1',
  /\be(?:connrefused|connreset|pipe|notfound|ai again|hostunreach|hostdown|netunreach|netreset)\b|enotfound|eai again|socket (?:hang up|closed|error)|fetch failed|connect(?:ion)? (?:error|refused|reset|closed|aborted)|network|网络|连接|\bdns\b|other side closed|certificate|\bund err/,
);

/** The provider's own trouble, in words so vague that everything more specific is asked first. */
export const SOME_TROUBLE = saying(
  'An error occurred while processing your request. You can retry your request.',
  /(?:unknown|unexpected) error|error occurred|retry your request|(?:reason:|finish reason) (?:error|malformed)|malformed (?:response|stream)|request failed|not ready|is down/,
);
