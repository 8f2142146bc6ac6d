/**
 * Tests the suite itself: each mutant is a copy of the product with one safeguard taken out, and the scenario that should
 * notice must go red. A mutation whose text is not found is an error, so that this list stays true.
 */
import { CONSENT_MUTANTS } from './consent-mutants.ts';
import { DESK_MUTANTS } from './desk-mutants.ts';
import { MODEL_MUTANTS } from './model-mutants.ts';
import type { Mutant } from './mutant.ts';
import { PROCESS_MUTANTS } from './process-mutants.ts';
import { SUMMONS_MUTANTS } from './summons-mutants.ts';
import { WATCHER_MUTANTS } from './watcher-mutants.ts';

const ADMITTED = "redis.call('RPUSH', lane, last)";

/** The safeguards of the flow. */
export const FLOW_MUTANTS: readonly Mutant[] = [
  {
    name: 'an update that was seen before is accepted again',
    mutations: { file: 'shared/state/message/accept.lua', from: 'if before then', to: 'if before and false then' },
    scenario: 'telegram-redelivers',
    violates: 'I2',
  },
  {
    name: 'neither the fence is checked nor whether another answer is stored',
    mutations: [
      {
        file: 'shared/redis/lua/fence.lua',
        from: 'return last and last >= tonumber(known) and last <= tonumber(sent) and last or nil',
        to: 'return last or -1',
      },
      {
        file: 'worker/turn/conclude.ts',
        from: "if (stored === 'repeated') return",
        to: 'if (false) return',
      },
    ],
    scenario: 'gateway-frozen',
    violates: 'I2',
    isInCut: true,
  },
  {
    name: 'the reconciler finds nothing',
    mutations: [
      {
        file: 'shared/state/lane/readmit.lua',
        from: 'local broken, foreign, restored = {}, {}, 0',
        to: "if true then return { '', {}, 0, {} } end\nlocal broken, foreign, restored = {}, {}, 0",
      },
      {
        file: 'shared/state/lane/heads.lua',
        from: 'local heads = {}',
        to: "if true then return { '0', {} } end\nlocal heads = {}",
      },
    ],
    scenario: 'killed-admitted',
    violates: 'I1',
    isInCut: true,
  },
  {
    name: 'a job that stands in no list is taken for one that runs',
    mutations: {
      file: 'worker/lane/queue.ts',
      from: "if (['waiting', 'active', 'delayed'].includes(await job.getState()))",
      to: 'if (job)',
    },
    scenario: 'job-without-list',
    violates: 'I1',
  },
  {
    name: 'an admission that is sent again answers with what is new since',
    mutations: { file: 'shared/state/lane/admit.lua', from: 'if call == ARGV[8] then', to: 'if false then' },
    scenario: 'line-cuts-admit',
    violates: 'I1',
  },
  {
    name: 'an attempt whose beginning is sent again is counted twice',
    mutations: { file: 'shared/state/turn/begin.lua', from: 'if fences[1] == ARGV[5] then', to: 'if false then' },
    scenario: 'line-cuts-begin',
    violates: 'I1',
  },
  {
    name: 'delays are held against a clock that is an hour ahead',
    mutations: {
      file: 'worker/lane/queue.ts',
      from: 'async endDelays(nowMs) {',
      to: 'async endDelays(nowMs) {\n      nowMs += 3_600_000;',
    },
    scenario: 'clock-behind-waits',
    violates: 'I4',
  },
  {
    name: 'an entry is acknowledged and deleted as it is admitted',
    mutations: {
      file: 'shared/state/lane/admit.lua',
      from: ADMITTED,
      to: `${ADMITTED} redis.call('XACK', KEYS[1], ARGV[1], last) redis.call('XDEL', KEYS[1], last)`,
    },
    scenario: 'telegram-redelivers',
    violates: 'I1',
  },
  {
    name: 'a lane hands out its newest message first',
    mutations: { file: 'shared/state/lane/admit.lua', from: ADMITTED, to: "redis.call('LPUSH', lane, last)" },
    scenario: 'killed-answer-stored',
    violates: 'I3',
  },
  {
    name: 'an update that could not be stored is confirmed',
    mutations: { file: 'producer/receive/poller.ts', from: '} else unstored += 1;', to: '}' },
    scenario: 'redis-out-of-memory',
    violates: 'I1',
  },
  {
    name: 'what comes behind an update that could not be stored is stored before it',
    mutations: { file: 'producer/receive/poller.ts', from: 'if (held.chats?.holds(chats)) return false;', to: '' },
    scenario: 'redis-out-of-memory',
    violates: 'I3',
  },
  {
    name: 'the operator hears nothing of what opens',
    mutations: {
      file: 'worker/alerts/next-sending.ts',
      from: 'if (!isSent && (stage <= before.stage',
      to: 'if (!isSent && (stage <= 2',
    },
    scenario: 'claude-refuses-key',
    violates: 'I8',
  },
  {
    name: 'an alert that nobody took is dropped',
    mutations: {
      file: 'worker/alerts/alerter.ts',
      from: 'round.record = failedAt(channels, record, sent, nowMs);',
      to: 'round.record = failedAt(channels, record, sent, nowMs); round.changed.set(incidentOf(next.incident), { ...next.after, stage: 3 });',
    },
    scenario: 'alerts-refused',
    violates: 'I8',
  },
  {
    name: 'data that Redis lost is not noticed',
    mutations: { file: 'shared/state/message/inbox.ts', from: 'if (!isLower)', to: 'if (true)' },
    scenario: 'redis-flushed',
    violates: 'I8',
  },
  {
    name: 'an answer is not kept in its conversation',
    mutations: { file: 'worker/turn/conclude.ts', from: ', ...marks, ...changes]', to: ', ...marks]' },
    scenario: 'telegram-redelivers',
    violates: 'I10',
  },
  {
    name: 'a chat leaves its session before it is answered in the fresh one',
    mutations: {
      file: 'worker/recovery/fresh-session.ts',
      from: 'isTrial ? trialBegun(call, move, quotes)',
      to: 'false ? []',
    },
    scenario: 'claude-guarded',
    violates: 'I10',
  },
  {
    name: 'a message that is to blame stays in its conversation',
    mutations: { file: 'worker/turn/conclude.ts', from: '[...removeTurn(turn), ...trialLost', to: '[...trialLost' },
    scenario: 'claude-guarded',
    violates: 'I8',
  },
  {
    name: 'the lease of a dead poller does not run out',
    mutations: {
      file: 'shared/state/process/hold-lease.lua',
      from: "redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])",
      to: "redis.call('SET', KEYS[1], ARGV[1])",
    },
    scenario: 'gateway-succeeded',
    violates: 'I12',
  },
  {
    name: 'the first poll waits for news',
    mutations: { file: 'producer/receive/poller.ts', from: "isAnswered ? undefined : 'at once'", to: 'undefined' },
    scenario: 'gateway-quiet-start',
    violates: 'I12',
  },
  {
    name: 'a connection to what is a replica by now is kept',
    mutations: { file: 'shared/redis/connection.ts', from: '    reconnectOnError: reconnectOn(use),\n', to: '' },
    scenario: 'failover-demoted',
    violates: 'I12',
  },
  {
    name: 'the model is asked although Telegram is away',
    mutations: [
      {
        file: 'worker/turn/wait-for-telegram.ts',
        from: 'if (retryAfterMs === 0) return undefined;',
        to: 'if (retryAfterMs === 0 || !turn.conclusion) return undefined;',
      },
      { file: 'worker/ask/conversation.ts', from: 'if (awayMs > 0) return', to: 'if (awayMs < 0) return' },
    ],
    scenario: 'telegram-away-page',
    violates: 'I14',
  },
  {
    name: 'a send without the word of Telegram counts as sent',
    mutations: [
      {
        file: 'worker/reply/outbox.ts',
        from: 'if (!sent.ok) return notDelivered(sent.failure);',
        to: "if (!sent.ok && sent.failure.kind !== 'unknown') return notDelivered(sent.failure);",
      },
    ],
    scenario: 'telegram-away-page',
    violates: 'I13',
  },
  {
    name: 'what may follow an addressed message is remembered by nobody',
    mutations: {
      file: 'shared/redis/lua/updates.lua',
      from: "if expected ~= '' then",
      to: "if expected ~= '' and false then",
    },
    scenario: 'webhook-behind-two',
    violates: 'I12',
    patienceS: 20,
  },
  {
    name: 'a producer learns of no move that another has seen',
    mutations: {
      file: 'producer/accept/accept.ts',
      from: 'if (from !== undefined) former.set(group, from);',
      to: 'void from;',
    },
    scenario: 'webhook-behind-two',
    violates: 'I12',
    patienceS: 20,
  },
  {
    name: 'an answer is tried thirty times',
    mutations: [
      { file: 'worker/turn/wait-for-telegram.ts', from: '+ (isTry ? 1 : 0);', to: '+ 1;' },
      { file: 'worker/turn/wait-for-telegram.ts', from: 'if (leftMs <= 0)', to: 'if (leftMs <= 0 || tries >= 30)' },
    ],
    scenario: 'telegram-away-refused',
    violates: 'I1',
  },
  {
    name: 'a dead letter keeps no answer',
    mutations: {
      file: 'shared/state/lane/settle.lua',
      from: "letter[5], letter[6] = 'answer', reply_of(KEYS[4])",
      to: '',
    },
    scenario: 'telegram-away-too-long',
    violates: 'I4',
  },
  {
    name: 'what was forgotten stays in the conversation',
    mutations: [
      { file: 'shared/state/chat/chat.ts', from: "'session', 'calibration'", to: "'calibration'" },
      { file: 'shared/state/session/session.ts', from: 'key, keys.log(id), keys.archive', to: 'keys.archive' },
    ],
    scenario: 'killed-references-erased',
    violates: 'I10',
  },
  {
    name: 'an outcome names no trace',
    mutations: { file: 'worker/turn/settle.ts', from: 'traceId: traceIdOf(traceparent),\n', to: "traceId: '',\n" },
    scenario: 'telegram-redelivers',
    violates: 'I9',
  },
];

/** All safeguards. */
export const MUTANTS: readonly Mutant[] = [
  ...FLOW_MUTANTS,
  ...CONSENT_MUTANTS,
  ...DESK_MUTANTS,
  ...MODEL_MUTANTS,
  ...PROCESS_MUTANTS,
  ...SUMMONS_MUTANTS,
  ...WATCHER_MUTANTS,
];
