/**
 * The words of providers and proxies when something is too large, or only looks like it.
 *
 * The rules read *plain* text (`plainText` in `plain-text.ts`): lower case, without quotes and links, `snake_case` and
 * `camelCase` split into words. A rule holds when one sentence matches every regex of `all` and not `none`. They are
 * written from the meaning: who (prompt, input, history) exceeds what (a window, a length, a count of tokens). A test
 * matches each against its example. No regex has an unbounded gap, so each is linear.
 */
export interface Rule {
  readonly example: string;
  readonly all: readonly RegExp[];
  readonly none?: RegExp;
  /** The regexes look at the whole text, because the evidence is usually spread over two sentences. */
  readonly across?: true;
}

/** Evidence that is spread over sentences is spread over the first few. */
const MAX_SPREAD_CHARS = 2_000;

export function holds(rule: Rule, sentences: readonly string[], plain: string): boolean {
  const fits = (text: string) => rule.all.every((regex) => regex.test(text)) && !rule.none?.test(text);
  return rule.across ? fits(plain.slice(0, MAX_SPREAD_CHARS)) : sentences.some(fits);
}

const EXCEEDS =
  /exceed|too (?:long|large|big|many|much|lengthy|high)|(?:long|larg|great|bigg|high)er than|\bbeyond\b|(?:more|over|above|past) (?:the|its|this|max|model|than|allowed|limit)|overflow|surpass|exhaust|out of (?:room|space|range)|not enough|(?:not|nt) fit|no room|reached|is full|hit the/;
const CONTEXT_LIMIT =
  /context ?(?:window|length|size|limit|budget|capacity|space|buffer|quota)|context (?:(?:has been|was|is) )?(?:exceeded|full|too l)|too much context|max(?:imum)? (?:model |allowed )?context|\bn ctx\b|max (?:model|seq|sequence|position) ?(?:len|length|embeddings)|maximum (?:model|sequence) length|(?:of|the|models?) context\b/;
/** Words that show that the subject of the sentence is something other than what we send. */
const OTHER_SUBJECT =
  /too small|minimum|deadline|at least \d|\bfile\b|\btool (?:name|description)|\bmcp tool\b|\b(?:response|result|output) \(\d|took|taking|waiting|expired|\b(?:auth|bearer|jwt|access|api) (?:token|key)|input should be|\bcall stack\b|\bretries\b|token bucket|\bemail\b|\bmail\b|\b(?:response|output|answer|summary|title|caption) (?:is |was )?too/;
/** The model's own output limit: shortening the conversation cannot help. */
export const OUTPUT_LIMIT =
  /(?:output|completion|generated|new|budget) tokens|max(?:imum)? (?:output |completion )?tokens (?:is |you |value|must)|max tokens:? \d/;
const SUBJECT =
  /\b(?:prompts?|inputs?|request|requested|messages|conversation|dialog(?:ue)?|history|texts?|content|query|your|you|total|sequence|context|chat)\b/;

/** A throttle by its status, an overflow of the paid tier by its meaning: only a smaller request is let through. */
export const LONG_CONTEXT_GATE: readonly Rule[] = [
  {
    example: 'Extra usage is required for long context requests.',
    all: [/extra usage is required for (?:long|\S{1,6}) ?context/],
  },
];

/** Unmistakable: a window or a token limit is named and exceeded. Holds under the 5xx of a proxy too. */
export const PROMPT_TOO_LONG: readonly Rule[] = [
  {
    example: 'Request size exceeds model context window',
    all: [CONTEXT_LIMIT, EXCEEDS],
    none: OTHER_SUBJECT,
  },
  {
    example: 'prompt is too long: 213462 tokens > 200000 maximum',
    all: [
      /\b(?:prompts?|inputs?|conversation|dialog(?:ue)?|history|transcript|thread|session|chat|sequence|messages|context)(?: (?:length|size|text|tokens?|history|count|is|are|was|has|have|become|became|got|grown|now|far|way|much|\(\S{1,12} tokens\))){0,5} too (?:long|large|big|lengthy)\b/,
    ],
    none: OTHER_SUBJECT,
  },
  {
    example: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    all: [SUBJECT, /\btokens?\b/, EXCEEDS, /limit|max|allowed|model|supports?|window|budget|capacity|\d/],
    none: new RegExp(`${OTHER_SUBJECT.source}|${OUTPUT_LIMIT.source}|too many`),
  },
  {
    example: 'Input validation error: `inputs` must have less than 1024 tokens. Given: 2031',
    all: [
      /\b(?:inputs?|prompts?|messages|context|conversation)\b/,
      /tokens?\b|\blength\b/,
      /\b(?:must|should|cannot|can not|may not|needs? to|has to)\b/,
      /less|fewer|more than|exceed|at most|<=|smaller|within|between|\[\d/,
    ],
    none: new RegExp(`${OTHER_SUBJECT.source}|${OUTPUT_LIMIT.source}|\\btools?\\b|temperature`),
  },
  {
    example: '错误：上下文过长，请减少输入',
    all: [
      /上下文|输入|輸入|提示|prompt|消息|对话|對話|token|文本|入力|プロンプト|コンテキスト|トークン|会話|프롬프트|입력|컨텍스트|토큰|대화/,
      /过长|過長|超长|超長|太长|太長|超出|超过|超過|超限|过大|度超|压缩|壓縮|長すぎ|超え|上限を|大きすぎ|초과|너무 (?:길|깁|긴|큽|많)|넘었|넘습/,
    ],
    none: /图片|圖片|文件|画像|이미지/,
  },
  {
    example: 'Превышена максимальная длина контекста модели',
    all: [
      /промпт|контекст|токен|ввод|диалог|\bprompt|eingabe|kontext|tokens?\b|konversation|\binvite|entr[ée]e|contexte|jetons|entrada|contexto|conversaci|conversa\b|contesto|conversazione|invoer|kontekst|bağlam/,
      /превы|слишком (?:длин|больш|мног)|zu (?:lang|gro|viele)|überschr|übersteig|trop (?:long|grand|de )|dépass|exc[èe]d|demasiad|supera|sobrepasa|muito long|long[oa] demais|ultrapass|troppo|te lang|overschr|za długi|przekr|çok uzun|aşıyor|aşıldı/,
    ],
    none: /exceed|\bimage|bild|imagen|изображ/,
  },
];

/** Weak wording: evidence only under a 4xx of the request itself or without any status. */
export const TOO_MANY_TOKENS: readonly Rule[] = [
  {
    example: 'Request body too large for gpt-4o model. Max size: 8000 tokens.',
    all: [/too (?:large|long|big)|exceed/, /(?:max|limit|size)\D{0,20}\d[\d,.]{0,12} ?k? tokens?\b/],
    none: new RegExp(`${OTHER_SUBJECT.source}|${OUTPUT_LIMIT.source}`),
    across: true,
  },
  {
    example: 'Too many tokens in request',
    all: [
      /too many (?:input |prompt |total |context )?(?:tokens|messages)\b|(?:request|query|text) (?:is |was )?too long\b/,
    ],
    none: new RegExp(`${OTHER_SUBJECT.source}|\\bur[il]\\b`),
  },
  {
    example: 'token limit exceeded',
    all: [
      /tokens? (?:limit|count|budget|maximum)(?: (?:has been|was|is))? (?:exceeded|reached|hit)|(?:exceed\w{0,3}|over|above|reached|hit|surpass\w{0,3}) (?:(?:the|your|its|this|our|models?|maximum|max|input|prompt|request|allowed|total|number|of) ){0,5}tokens? ?(?:limit|budget|count|maximum|max|allowed)?/,
    ],
    none: new RegExp(`${OTHER_SUBJECT.source}|${OUTPUT_LIMIT.source}`),
  },
  {
    example: 'The input prompt is larger than the supported length.',
    all: [
      /\b(?:prompts?|inputs?|conversation|history|messages|chat)\b/,
      EXCEEDS,
      /(?:max(?:imum)?|allowed|supported|permitted|available|model) (?:\w+ )?(?:length|size|limit)|\blimit\b/,
    ],
    none: new RegExp(`${OTHER_SUBJECT.source}|${OUTPUT_LIMIT.source}|bytes|\\bchar|\\d ?[kmg]i?b\\b|\\bimage|media`),
  },
  {
    example: 'The text you submitted is too long for this model to process',
    all: [/\b(?:text|content|messages|input|prompt)\b/, /too (?:long|large|big) for (?:\w+ ){0,3}model/],
    none: OTHER_SUBJECT,
  },
  { example: 'KV cache is full: prompt needs 40213 slots', all: [/\bkv cache\b/, /full|exceed|need|not enough|space/] },
  { example: 'maximum tokens for requested operation', all: [/maximum tokens for requested operation/] },
  {
    example: 'Maximum context length',
    all: [/max(?:imum)? context (?:length|window|size)/],
    none: OTHER_SUBJECT,
  },
  {
    example: 'availableContext 843 is less than FLOOR_OUTPUT_TOKENS 3000',
    all: [/(?:available|remaining) context (?:\w+ )?(?:of )?\d+ is (?:less|below|smaller|lower)/],
  },
  {
    example: 'Context overflow: summarization failed',
    all: [/^\W*(?:[45]\d\d\W{1,2})?(?:error: )?context (?:window )?overflow(?:ed)?(?:$|:|\.)/],
  },
  {
    example: 'max_tokens must be greater than thinking.budget_tokens',
    all: [/max tokens must be greater than thinking.budget tokens/],
  },
];

/** Only advice to send less: it says neither what is too large nor in which unit. */
export const SEND_LESS: readonly Rule[] = [
  {
    example: 'Please reduce the length of the messages or completion',
    all: [
      /(?:reduce|shorten|trim|decrease|compact|truncate) (?:(?:the|your|total|length|size|number|amount|of|input|prompt|message|chat) ){0,5}(?:messages|prompts?|conversation|inputs?|context|history|tokens|message size)|shorter (?:input|prompt|message|conversation)/,
    ],
  },
];

/** The prompt fits, the prompt and the output asked for do not. */
export const OUTPUT_DOES_NOT_FIT: readonly Rule[] = [
  {
    example: 'input length and `max_tokens` exceed context limit: 188059 + 20000 > 200000',
    all: [
      /(?:inputs?|prompt|messages)[^.]{0,40}(?:\band\b|\+|\bplus\b)[^.]{0,20}max (?:new |completion |output )?tokens[^.]{0,80}(?:exceed|<=|must|>|larger|greater|too)|max (?:new |completion |output )?tokens[^.]{0,40}(?:\band\b|\+|\bplus\b)[^.]{0,20}(?:inputs?|prompt|messages)[^.]{0,80}(?:exceed|<=|>|larger|greater)/,
    ],
    across: true,
  },
  {
    example:
      "'max_tokens' is too large: 9000. This model's maximum context length is 8192 tokens and your request has 500 input tokens",
    all: [
      /max (?:completion |output |new )?tokens(?:[^.:]|: \d){0,40}(?:too large|too high|exceeds?\b|not fit)/,
      /context|input|prompt/,
    ],
    none: /requested \d/,
    across: true,
  },
];

/** The body in bytes, before tokens are counted. */
export const BODY_TOO_LARGE: readonly Rule[] = [
  {
    example: '{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}',
    all: [
      /(?:entity|payload|body|request|content|message body|post data|request size|content length)(?: (?:size|length|is|was))? too (?:large|big)|(?:request|payload|body|content length)[^.]{0,40}(?:exceed|(?:larg|great|bigg)er than|over|above|limit)[^.]{0,50}(?:maximum size|max size|size limit|maximum allowed|bytes|\d ?(?:mb|mib|kb|gb)\b|body limit|max body|payload size|maximum request)|max(?:imum)? (?:request|body|payload|upload) size[^.]{0,40}exceed|(?:payload|body)(?: size)?[^.]{0,30}exceed[^.]{0,20}limit|too large body|request[^.]{0,12} \d[\d.]{0,5} ?mi?b\b[^.]{0,20}(?:max|limit)/,
    ],
    none: /tokens?\b|context|image|pdf|header|cookie|response|mail|\bur[il]\b|prompt/,
  },
  {
    example: "Invalid 'messages[1].content': string too long. Expected a string with maximum length 10485760",
    all: [/messages|input|content/, /string too long|string above max length/],
    none: /tools|description|name\b|metadata/,
    across: true,
  },
];

/** An image or a document that no request may hold. */
export const MEDIA_REJECTED: readonly Rule[] = [
  {
    example: 'messages.7.content.2.image.source.base64: image exceeds 5 MB maximum: 5316852 bytes > 5242880 bytes',
    all: [
      /\b(?:images?|pdfs?|picture|photo|video|audio)\b|\bdocument\b/,
      /exceed|too (?:large|big|many|long)|(?:larg|small|bigg)er than|maximum|max allowed|dimension|resize|\bpages\b|pixels|\d ?px|could not (?:process|decode|read|load)|(?:unable|failed) to (?:process|decode|read|load)|invalid|not a? ?valid|corrupt|password|encrypted|does not match|unsupported (?:image|media)/,
    ],
    none: /tokens?\b|context (?:window|length)|\brate\b|quota|per (?:minute|day)|generation|not support/,
  },
];

/** A single request larger than the whole budget per minute: waiting never helps. */
export function exceedsWholeBudget(plain: string): boolean {
  const stated =
    /(?:tokens? ?(?:per|\/) ?\w{1,8}|\btp[md]\b)[^.\d]{0,40}limit:? (\d[\d,]{0,14})[^.]{0,60}?requested:? (\d[\d,]{0,14})/.exec(
      plain,
    );
  if (stated === null || /requests per|\brp[mdh]\b/.test(stated[0])) return false;
  const [limit, requested] = stated.slice(1).map((count) => Number(count.replace(/,/g, '')));
  return limit !== undefined && requested !== undefined && requested > limit;
}

/** The numbers in it count tokens that we sent, not those of a file, a tool or the answer. */
export function isAboutInputTokens(plain: string): boolean {
  if (!/tokens?\b|context|sequence length/.test(plain) || OTHER_SUBJECT.test(plain)) return false;
  if (OUTPUT_LIMIT.test(plain) && !/context|prompt|\binput|messages/.test(plain)) return false;
  return SUBJECT.test(plain);
}
