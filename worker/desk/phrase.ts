import { ENTRY_NAME, TRACE_NAME } from '../report/message-location.ts';

/** What somebody asks who answers an alert in their own words. `of` is absent where they mean what the alert is about. */
export interface Asked<Verb = 'pause' | 'resume' | 'chat' | 'message' | 'status' | 'replay' | 'why'> {
  verb: Verb;
  of?: string;
}

const CHAT = String.raw`-?\d{1,16}(?:[.@]-?\d{1,16})?`;
const IT = '(?: ?(?:it|this|that|them|(?:this |that |the )?chats?|它|這個|这个|聊天))?';
const OF = `${IT}(?: ?(?<all>all|everything|every chat|all chats|全部|所有)| ?(?<chat>${CHAT}))?`;

const PHRASES: readonly [pattern: RegExp, verb: Asked['verb']][] = [
  [new RegExp(`^(?:pause|暫停|暂停)${OF}$`), 'pause'],
  [new RegExp(`^(?:resume|unpause|continue|go on|恢復|恢复|繼續|继续)${OF}$`), 'resume'],
  [
    /^(?:retry|replay|try (?:it |them )?again|put (?:it|them) back|重試|重试|重播|重送)(?: ?(?:it|them|all|它|全部))?$/,
    'replay',
  ],
  [/^(?:status|狀態|状态)$/, 'status'],
  [
    /^(?:why|what(?:’s|'s| is| was| has)? ?(?:it|this|that|happened|wrong|going on|up)?|details|為什麼|为什么|怎麼了|怎么了|怎麼回事|怎么回事|發生什麼事|发生什么事|原因)$/,
    'why',
  ],
  [/^(?:who(?:’s|'s| is)? ?(?:it|this|that)?|chat|是誰|是谁|誰|谁)$/, 'chat'],
  [
    new RegExp(
      `^(?:(?:who|what)(?:’s|'s| is)|show|誰是|谁是|什麼是|什么是)? ?(?:chat )?(?<chat>${CHAT})(?: ?(?:是誰|是谁|是什麼|是什么))?$`,
    ),
    'chat',
  ],
  [/^(?:trace|message|追蹤|追踪|訊息|消息)$/, 'message'],
];
const POLITE = /^(?:please|pls|can you|could you|請|请) ?/;
const BEFORE_ID = /^(?:(?:what|where)(?:’s|'s| is)|show|message|trace|entry) /;

/** Reads a few words of English or Chinese; `undefined` for all that is not known for certain. Pure. */
export function readPhrase(words: string): Asked | undefined {
  const said = words
    .normalize('NFKC')
    .toLowerCase()
    .replace(/\s+/g, ' ')
    .replace(/[\s.!?。…~]+$/, '')
    .trim();
  const phrase = said.replace(POLITE, '').replace(/ (?:please|pls)$/, '');
  const id = phrase.replace(BEFORE_ID, '').replace(BEFORE_ID, '');
  if (ENTRY_NAME.test(id) || TRACE_NAME.test(id)) return { verb: 'message', of: id };
  for (const [pattern, verb] of PHRASES) {
    const match = pattern.exec(phrase);
    if (match === null) continue;
    const of = match.groups?.all === undefined ? match.groups?.chat : 'all';
    return { verb, ...(of !== undefined && { of }) };
  }
  return undefined;
}
