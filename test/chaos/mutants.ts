/**
 * Tests the suite itself: each mutant is a copy of the product with one safeguard taken out, and the scenario that should
 * notice must go red. A mutation whose text is not found is an error, so that this list stays true.
 */
import { type Mutant, mutant, slow } from './mutant.ts';
import { OTHER_MUTANTS } from './other-mutants.ts';

const ADMITTED = "redis.call('RPUSH', lane, last)";

/** Two run with every test. */
const inCut = (cut: Mutant): Mutant => ({ ...cut, isInCut: true });

/** Where one chat waits behind another, the sound product needs longer. */
const PATIENCE_S = 20;

/** The safeguards of the flow. */
export const FLOW_MUTANTS: readonly Mutant[] = [
  mutant('I2', 'telegram-redelivers', 'an update that was seen before is accepted again', [
    'shared/state/message/accept.lua',
    'if accepted_entry then',
    'if accepted_entry and false then',
  ]),
  inCut(
    mutant('I2', 'gateway-frozen', 'neither the fence is checked nor whether another answer is stored', [
      [
        'shared/redis/lua/fence.lua',
        'return last and last >= tonumber(confirmed) and last <= tonumber(sent) and last or nil',
        'return last or -1',
      ],
      ['worker/turn/conclude.ts', "if (result === 'repeated') return", 'if (false) return'],
    ]),
  ),
  inCut(
    mutant('I1', 'killed-admitted', 'the reconciler finds nothing', [
      [
        'shared/state/lane/readmit.lua',
        'local broken, foreign, restored = {}, {}, 0',
        "if true then return { '', {}, 0, {} } end\nlocal broken, foreign, restored = {}, {}, 0",
      ],
      ['shared/state/lane/heads.lua', 'local heads = {}', "if true then return { '0', {} } end\nlocal heads = {}"],
    ]),
  ),
  mutant('I1', 'job-without-list', 'a job that stands in no list is taken for one that runs', [
    'worker/lane/queue.ts',
    "if (['waiting', 'active', 'delayed'].includes(await job.getState()))",
    'if (job)',
  ]),
  mutant('I1', 'line-cuts-admit', 'an admission that is sent again answers with what is new since', [
    'shared/state/lane/admit.lua',
    'if call == ARGV[8] then',
    'if false then',
  ]),
  mutant('I1', 'line-cuts-begin', 'an attempt whose beginning is sent again is counted twice', [
    'shared/state/turn/begin.lua',
    'if fences[1] == ARGV[5] then',
    'if false then',
  ]),
  mutant('I4', 'clock-behind-waits', 'delays are held against a clock that is an hour ahead', [
    'worker/lane/queue.ts',
    'async endDelays(nowMs) {',
    'async endDelays(nowMs) {\n      nowMs += 3_600_000;',
  ]),
  mutant('I1', 'telegram-redelivers', 'an entry is acknowledged and deleted as it is admitted', [
    'shared/state/lane/admit.lua',
    ADMITTED,
    `${ADMITTED} redis.call('XACK', KEYS[1], ARGV[1], last) redis.call('XDEL', KEYS[1], last)`,
  ]),
  mutant('I3', 'killed-answer-stored', 'a lane hands out its newest message first', [
    'shared/state/lane/admit.lua',
    ADMITTED,
    "redis.call('LPUSH', lane, last)",
  ]),
  mutant('I1', 'redis-out-of-memory', 'an update that could not be stored is confirmed', [
    'producer/receive/poller.ts',
    '} else unstored += 1;',
    '}',
  ]),
  mutant('I3', 'redis-out-of-memory', 'what comes behind an update that could not be stored is stored before it', [
    'producer/receive/poller.ts',
    'if (blocked.mustWait(chats)) return false;',
    '',
  ]),
  mutant('I8', 'claude-refuses-key', 'the operator hears nothing of what opens', [
    'worker/alerts/next-sending.ts',
    'if (!hasMessage && (stage <= before.stage',
    'if (!hasMessage && (stage <= 2',
  ]),
  mutant('I8', 'alerts-refused', 'an alert that nobody took is dropped', [
    'worker/alerts/alerter.ts',
    'round.record = withFailure(channels, record, result, nowMs);',
    'round.record = withFailure(channels, record, result, nowMs); round.changes.set(incidentOf(next.incident), { ...next.after, stage: 3 });',
  ]),
  mutant('I8', 'redis-flushed', 'data that Redis lost is not noticed', [
    'shared/state/message/inbox.ts',
    'if (!isLower)',
    'if (true)',
  ]),
  mutant('I10', 'telegram-redelivers', 'an answer is not kept in its conversation', [
    'worker/turn/conclude.ts',
    ', ...marks, ...changes]',
    ', ...marks]',
  ]),
  mutant('I10', 'claude-guarded', 'a chat leaves its session before it is answered in the fresh one', [
    'worker/recovery/fresh-session.ts',
    'isTrial ? changesToBeginTrial(call, move, quotes)',
    'false ? []',
  ]),
  mutant('I8', 'claude-guarded', 'a message that is to blame stays in its conversation', [
    'worker/turn/conclude.ts',
    '[...removeTurn(turn), ...loseTrial',
    '[...loseTrial',
  ]),
  mutant('I12', 'gateway-succeeded', 'the lease of a dead poller does not run out', [
    'shared/state/process/hold-lease.lua',
    "redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])",
    "redis.call('SET', KEYS[1], ARGV[1])",
  ]),
  mutant('I12', 'gateway-quiet-start', 'the first poll waits for news', [
    'producer/receive/poller.ts',
    "isAnswered ? undefined : 'at once'",
    'undefined',
  ]),
  mutant('I12', 'failover-demoted', 'a connection to what is a replica by now is kept', [
    'shared/redis/connection.ts',
    '    reconnectOnError: reconnectOn(use),\n',
    '',
  ]),
  mutant('I14', 'telegram-away-page', 'the model is asked although Telegram is away', [
    [
      'worker/turn/wait-for-telegram.ts',
      'if (retryAfterMs === 0) return undefined;',
      'if (retryAfterMs === 0 || !turn.conclusion) return undefined;',
    ],
    ['worker/ask/conversation.ts', 'if (awayMs > 0) return', 'if (awayMs < 0) return'],
  ]),
  mutant('I13', 'telegram-away-page', 'a send without the word of Telegram counts as sent', [
    'worker/reply/outbox.ts',
    'if (!result.ok) return notDelivered(result.failure);',
    "if (!result.ok && result.failure.kind !== 'unknown') return notDelivered(result.failure);",
  ]),
  slow(
    PATIENCE_S,
    mutant('I12', 'webhook-behind-two', 'what may follow an addressed message is remembered by nobody', [
      'shared/redis/lua/updates.lua',
      "if expected ~= '' then",
      "if expected ~= '' and false then",
    ]),
  ),
  slow(
    PATIENCE_S,
    mutant('I12', 'webhook-behind-two', 'a producer learns of no move that another has seen', [
      'producer/accept/accept.ts',
      'if (from !== undefined) former.set(group, from);',
      'void from;',
    ]),
  ),
  mutant('I1', 'telegram-away-refused', 'an answer is tried thirty times', [
    ['worker/turn/wait-for-telegram.ts', '+ (isTry ? 1 : 0);', '+ 1;'],
    ['worker/turn/wait-for-telegram.ts', 'if (leftMs <= 0)', 'if (leftMs <= 0 || tries >= 30)'],
  ]),
  mutant('I4', 'telegram-away-too-long', 'a dead letter keeps no answer', [
    'shared/state/lane/settle.lua',
    "letter[5], letter[6] = 'answer', reply_of(KEYS[4])",
    '',
  ]),
  mutant('I10', 'killed-references-erased', 'what was forgotten stays in the conversation', [
    ['shared/state/chat/chat.ts', "'session', 'calibration'", "'calibration'"],
    ['shared/state/session/session.ts', 'key, keys.log(id), keys.archive', 'keys.archive'],
  ]),
  mutant('I9', 'telegram-redelivers', 'an outcome names no trace', [
    'worker/turn/settle.ts',
    'traceId: traceIdOf(traceparent),\n',
    "traceId: '',\n",
  ]),
];

/** All safeguards. */
export const MUTANTS: readonly Mutant[] = [...FLOW_MUTANTS, ...OTHER_MUTANTS];
