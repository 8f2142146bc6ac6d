import type { FailureClass } from './failure.ts';

/**
 * A fact about an error in addition to its words. `page`: the error is an HTML page. `place`: it has a path into the request's
 * messages. `wait`: it states a time to retry. `numbers`: it states a number of tokens and a limit. `too large`: a `certain`
 * row matches it.
 */
export type Fact = 'page' | 'place' | 'wait' | 'numbers' | 'too large';

/** The wording of one kind of failure by a provider or a proxy. A row matches an error if all its columns do. */
export interface Wording extends FailureClass {
  /** An error that this row classifies. */
  readonly example: string;
  /** The provider or program that sends this error. */
  readonly source: string;
  /** Matches the error's status, or the word `none` if it has no status. */
  readonly status?: RegExp;
  readonly with?: Fact;
  readonly without?: Fact;
  /** Some sentence, name, type or code of the error matches all of these regexes and none of the regexes in `none`. */
  readonly all?: readonly RegExp[];
  /** The regexes that the same sentence, name, type or code must not match. */
  readonly none?: readonly RegExp[];
  /** The regexes are matched against the error's whole text instead of each sentence. */
  readonly across?: true;
  /** The request is certainly too large, even if the status is that of a server error (5xx). */
  readonly certain?: true;
}

/** The rows of a kind and a reason, such as "token prompt_too_long". */
function rows(
  of: `${FailureClass['kind']} ${FailureClass['reason']}`,
  ...wordings: readonly Omit<Wording, 'kind' | 'reason'>[]
): readonly Wording[] {
  const [kind, reason] = of.split(' ') as [FailureClass['kind'], FailureClass['reason']];
  return wordings.map((wording) => ({ kind, reason, ...wording }));
}

const NONE = /none/;
const NOT_OF_SERVER = /none|4../;
const OF_REQUEST = /^4(?!29)/;
const LATER = /wait (?:a|before|and|for)|try again (?:later|in)|retry (?:after|in|later|delay)/;
const BILLING =
  /credit balance|insufficient (?:credit|fund|balance|quota)|out of (?:extra usage|credit)|billing (?:hard |soft )?(?:limit|account|details|error|issue|problem)|payment required|spend(?:ing)? (?:limit|cap)|usage limit|exceeded your current quota|余额|餘額|欠费|充值|средств/;
const AUTHENTICATION =
  /authentication (?:error|failed)|unauthori|unauthenticated|(?:invalid|incorrect|missing|expired) (?:x api key|api key|bearer|access token|auth)|api key (?:not|inv|is inv|exp)|token expired|token has expired|invalid authentication/;
const EXCEEDS =
  /exceed|too (?:long|large|big|many|much|lengthy|high)|(?:long|larg|great|bigg)er than|beyond|(?:more|over|above|past) (?:the|its|this|max|model|than|allowed|limit)|less than \d|set to \d|overflow|surpass|exhaust|out of (?:room|space|range)|not enough|(?:not|nt) fit|no room|reached|is full|hit the/;
/** Words of sentences whose subject is not the request. */
const OTHER_SUBJECT =
  /too small|minimum|deadline|at least|file|tool (?:name|description)|mcp tool|(?:response|result|output) \(|took|taking|waiting|expired|(?:auth|bearer|jwt|access|api) (?:token|key)|input should be|call stack|retries|token bucket|mail|(?:response|output|answer|summary|title|caption) (?:is |was |)too/;
/** Words about the model's output limit. If a request exceeds that limit, a shorter conversation does not help. */
const OUTPUT_LIMIT =
  /(?:output|completion|generated|new|budget) token|max(?:imum)? (?:output |completion )?tokens (?:is |you |value|must)|max tokens: \d/;
const SUBJECT =
  /\b(?:prompt|input|request|messages|conversation|dialog|history|text|content|query|you|total|sequence|context|chat)/;

/** All wordings, in order: the first row that matches an error decides. */
// biome-ignore format: it is a table
export const WORDINGS: readonly Wording[] = [
  ...rows('transient timeout', { source: 'Codex', status: NONE,
    example: 'Compaction failed: timed out waiting for codex app-server compaction',
    all: [/timed? ?out|deadline exceeded|took too long|超时/] }),
  ...rows('transient cut_stream', { source: 'SDK', status: NONE,
    example: 'Anthropic stream ended before message_stop',
    all: [/stream (?:read |ended|error|closed|was|interrupt|disconnect)|premature|terminated|without sending|unexpected (?:end of|eof)|incomplete chunked|received from peer|peer closed/] }),
  ...rows('transient aborted', { source: 'fetch', status: NONE,
    example: 'The operation was aborted', all: [/abort/] }),
  ...rows('transient network', { source: 'fetch', status: NONE, without: 'too large',
    example: 'connect ECONNREFUSED 127.0.0.1:1',
    all: [/econn|enotfound|eai again|epipe|e(?:host|net)unreach|ehostdown|enetreset|socket (?:hang up|closed|error)|fetch failed|(?:connect|connection) (?:error|refused|reset|closed|aborted)|network|网络|连接|dns|other side closed|certificate|\bund err/] }),
  ...rows('terminal authentication',
    { source: 'any', example: '401 Unauthorized', status: /401/ },
    { source: 'OpenAI', example: 'Incorrect API key provided', status: NONE, all: [AUTHENTICATION] }),
  ...rows('terminal billing',
    { source: 'any', example: '402 Payment Required', status: /402/ },
    { source: 'OpenAI', status: /429/, without: 'wait',
      example: '429 You exceeded your current quota, please check your plan and billing details.',
      all: [BILLING], none: [LATER], across: true },
    { source: 'OpenRouter', example: 'Insufficient credits', status: NONE, all: [BILLING] }),
  ...rows('unknown billing', { source: 'Messages API', status: OF_REQUEST,
    all: [BILLING], example: '400 Your credit balance is too low to access the Anthropic API.' }),
  ...rows('unknown authentication', { source: 'Gemini', status: OF_REQUEST, all: [AUTHENTICATION],
    example: '400 API key not valid. Please pass a valid API key.' }),
  ...rows('model model_unusable', { source: 'Bedrock', status: NOT_OF_SERVER,
    example: "403 You don't have access to the model with the specified model ID.",
    all: [/\bmodel\b|tool/, /(?:not|nt|no|to) (?:have )?access\b|only access|retired|deprecated|decommission|end of its life|not available|(?:not|nt) support tool|support tool use/] }),
  ...rows('model not_found',
    { source: 'Ollama', example: "model 'llama9' not found", status: NOT_OF_SERVER,
      all: [/\bmodel\b|not found error/, /not found|not exist|invalid model name|identifier is invalid/] },
    { source: 'a proxy', example: '410 Gone', status: /404|410/, none: [/tokens/] }),
  ...rows('unknown refused', { source: 'OpenRouter', status: NOT_OF_SERVER,
    example: '403 {"error":{"message":"Your input was flagged"}}',
    all: [/content (?:filter|polic|management)|usage polic|flagged|moderation|safety (?:system|settings|filter)/] }),
  ...rows('unknown permission', { source: 'Messages API', without: 'page',
    example: '403 Your API key does not have permission to use the specified resource.',
    all: [/permission|\bforbidden\b|access denied|not allowed to access/] }),
  ...rows('unknown refused', { source: 'any', example: '403 Country, region, or territory not supported', status: /403/ }),
  ...rows('token prompt_too_long', { source: 'Messages API',
    example: '429 Extra usage is required for long context requests.', all: [/extra usage is required for/] }),
  ...rows('token rate_below_size', { source: 'OpenAI', with: 'numbers',
    example: '429 Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 45231.',
    all: [/tokens per|tpm|tpd/, /requested/] }),
  ...rows('transient rate_limited',
    { source: 'any', example: '429 Too Many Requests', status: /429/ },
    { source: 'Messages API', example: 'Number of request tokens has exceeded your per-model limit',
      all: [/rate limit|ratelimit|requests limit|request limit exceeded|request limit reached|cooling down|too many requests|throttl|quota|per model limit|too many concurrent|concurren(?:t|cy) (?:request|connection|limit)|resource exhausted|slow down|in flight requests|token bucket|token rate|\b(?:tpm|rpm|tpd|rpd|itpm|otpm|rph)\b|(?:per |each |\/)(?:second|minute|min|hour|day|week|month)\b|(?:daily|monthly|weekly|hourly)|频率|速率|频繁|頻繁|限流|每分钟|每分鐘|每秒|每日|每天|配额|配額|额度|并发|次数|レート|毎分|分あたり|クォータ|속도 제한|분당|할당량|в минуту|квот|частот|pro minute|kontingent|ratenlimit|par minute|por minut|cuota|cota|débit|al minuto/] }),
  ...rows('transient overloaded', { source: 'Messages API', without: 'too large',
    example: '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
    all: [/overload|(?:at|out of) capacity|capacity limits|high (?:load|demand)|is busy|compaction unavailable|繁忙|过载|负载|访问量/] }),
  ...rows('transient server_error',
    { source: 'any', example: '500 Internal server error', status: /5..|40[89]|499/, without: 'too large' },
    { source: 'Messages API', status: NONE, without: 'too large',
      example: '{"type":"error","error":{"type":"api_error","message":"Internal server error"}}',
      all: [/internal (?:server|database|error)|server error|server had an error|conflict error|unavailable|bad gateway|crashed|^api error$|out of memory|系统|服务|内部错误|(?:unknown|unexpected) error|error occurred|retry your request|(?:reason:|finish reason) (?:error|malformed)|malformed (?:response|stream)|request failed|not ready|is down/] }),
  ...rows('poison thinking_signature', { source: 'Messages API',
    example: 'messages.1.content.0: Invalid `signature` in `thinking` block',
    all: [/thinking|thought|reasoning|encrypted content/, /signature|cannot be modified|must (?:start|be followed|remain)|bound to|expected thinking|could not be (?:verified|decrypted)|without its required/] }),
  ...rows('poison structure',
    { source: 'Messages API',
      example: '400 messages.0.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_01',
      all: [/tool (?:use|result|call|response)|function (?:call|response)/, /must|without|unexpected|not found|missing|correspond|preced|preceed|follow|immediately|unique|single result|mismatch|number of|no match|orphan|concurren/] },
    { source: 'Messages API', example: 'messages: roles must alternate between "user" and "assistant"',
      all: [/role must|roles must|expected last role|(?:incorrect|unexpected) role|must use the user role|assistant message prefill|must (?:start|begin|end) with a user|only be in (?:user|assistant)|at least one message|cache control|surrogate|body is not valid json|invalid (?:unicode|utf 8)|compaction block misplaced|non empty|non whitespace text|(?:content|text|messages) (?:cannot|must not|can not) be empty|empty (?:text|content)|trailing whitespace/] }),
  ...rows('media media_rejected', { source: 'Messages API', example: 'Could not process image',
    all: [/\b(?:images?|pdfs?|picture|photo|video|audio)\b|\bdocument\b/, /exceed|too (?:large|big|many|long)|(?:larg|small|bigg)er than|maximum|max allowed|dimension|resize|pages|pixels|px|(?:could not|unable to|failed to) (?:process|decode|read|load)|invalid|not a valid|not valid|corrupt|password|encrypted|does not match|unsupported (?:image|media)|messages\S+\.(?:image|document|pdf)/],
    none: [/token|context (?:window|length)|\brate\b|generation|not support/] }),
  ...rows('wire request_too_large', { source: 'Messages API', certain: true,
    example: '{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}',
    all: [/entity|payload|body|request|content|post data|upload/, /too (?:large|big)|exceed|(?:larg|great|bigg)er than|size limit|maximum is|string (?:too long|above)/],
    none: [/token|context|image|pdf|header|cookie|response|mail|\bur[il]\b|prompt|file content|history|gpt|tools|description|name\b|metadata/] }),
  ...rows('fit output_does_not_fit',
    { source: 'Messages API', example: 'input length and `max_tokens` exceed context limit: 188059 + 20000 > 200000',
      all: [/max (?:new |completion |output )?tokens/, /\band\b|\+|\bplus\b/, /exceed|<=|must|>|larger|greater|too/] },
    { source: 'vLLM', across: true,
      example: "'max_tokens' is too large: 9000. This model's maximum context length is 8192 tokens and your request has 500 input tokens",
      all: [/max (?:completion |output |new )?tokens(?:[^.:]|: \d){0,40}(?:too large|too high|exceed |exceeds |not fit)/, /context|input|prompt/] }),
  ...rows('token prompt_too_long',
    { source: 'Mistral', certain: true, with: 'numbers',
      example: 'Prompt contains 65673 tokens, too large for model with 32768 maximum context length',
      all: [/token|context|sequence length/], none: [OTHER_SUBJECT, OUTPUT_LIMIT] },
    { source: 'Messages API', example: 'Request size exceeds model context window', certain: true,
      all: [/context (?:window|length|size|limit|budget|capacity|space|buffer|quota)|context (?:is |was |has been |)(?:exceeded|full|too l|overflow)|too much context|(?:max|maximum) (?:model |allowed |)context|\bn ctx\b|max (?:model|seq|sequence|position) (?:len|embeddings)|maximum (?:model|sequence) length|(?:of|the|models?) context\b/, EXCEEDS] },
    { source: 'Messages API', example: 'prompt is too long', certain: true,
      all: [/\b(?:prompt|input|conversation|dialog|history|transcript|thread|session|chat|sequence\b|messages|context)/, /too (?:long|large|big|lengthy)/],
      none: [OTHER_SUBJECT] },
    { source: 'Gemini', certain: true,
      example: 'The input token count (1200000) exceeds the maximum number of tokens allowed.',
      all: [SUBJECT, /token/, EXCEEDS], none: [OTHER_SUBJECT, OUTPUT_LIMIT] },
    { source: 'DashScope', example: '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]',
      all: [/input|prompt|messages|context|conversation/, /token|length/, /(?:must|should|cannot|can not|may not|has to) (?:be |have |)(?:less|fewer|more|exceed|at most|<=|smaller|within|between|\[\d)/],
      none: [OTHER_SUBJECT] },
    { source: 'providers of other languages', example: '错误：上下文过长，请减少输入',
      all: [
        /上下文|输入|輸入|提示|prompt|消息|对话|對話|token|文本|入力|プロンプト|コンテキスト|トークン|会話|프롬프트|입력|컨텍스트|토큰|대화|промпт|контекст|токен|ввод|диалог|eingabe|kontext|konversation|\binvite|entrée|contexte|jetons|entrada|contexto|conversaci|conversa\b|contesto|conversazione|invoer|kontekst|bağlam/,
        /过长|過長|超长|超長|太长|太長|超出|超过|超過|超限|过大|度超|压缩|壓縮|長すぎ|超え|上限を|大きすぎ|초과|너무|넘었|넘습|превы|слишком (?:длин|больш|мног)|zu (?:lang|gro|viele)|überschr|übersteig|trop (?:long|grand|de )|dépass|excède|excede|demasiad|supera|sobrepasa|muito long|long[oa] demais|ultrapass|troppo|te lang|overschr|za długi|przekr|çok uzun|aşıyor|aşıldı/] },
    { source: 'Moonshot', example: 'model max length exceeded, max length:8192',
      all: [/\b(?:prompt|input|conversation|history|messages|chat|text|query|queries|model max)|message length/, EXCEEDS, /(?:max|maximum|allowed|supported|permitted|available|model) (?:\w+ )?(?:length|size|limit)|\blimit\b|symbols|max length|for this model/] },
    { source: 'a proxy', example: 'token limit exceeded',
      all: [/token/, /limit|budget|count|max|allowed/, /exceed|over|above|reached|hit|surpass/], none: [OTHER_SUBJECT, OUTPUT_LIMIT] },
    { source: 'OpenAI', example: 'Please reduce the length of the messages or completion',
      all: [/(?:reduce|shorten|trim|decrease|compact|truncate) (?:\w+ ){0,5}(?:messages|prompt|conversation|input|context|history|tokens|message size)|shorter (?:input|prompt|message|conversation)|(?:request|query|text) (?:is |was |)too long|maximum tokens for requested operation|(?:max|maximum) context (?:length|window|size)|context \d+ is less|max tokens must be greater than thinking|kv cache is full|expected max length: \d|max size: \d+ tokens|too many (?:\w+ |)tokens/] }),
  ...rows('wire request_too_large', { source: 'nginx', example: '413', status: /413/ }),
  ...rows('poison structure', { source: 'Messages API', status: /4../, with: 'place',
    example: '400 {"error":{"message":"messages.3.content.1: no"}}' }),
  ...rows('unknown bad_request',
    { source: 'any', example: '400 Bad Request', status: /4../ },
    { source: 'Messages API', example: '{"type":"error","error":{"type":"invalid_request_error","message":"no"}}',
      all: [/^invalid request error$/] }),
  ...rows('transient rate_limited', { source: 'a proxy', example: 'Please try again later.', all: [LATER] }),
];
