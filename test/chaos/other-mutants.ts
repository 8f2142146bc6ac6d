import { type Mutant, mutant, slow } from './mutant.ts';

/** Against odd and endless replies of the model and its endpoint. */
const MODEL = [
  mutant('I8', 'claude-lies', 'a refusal is believed at once', [
    'worker/recovery/policy.ts',
    'const isRepeated = failure.isSeconded === true ||',
    'const isRepeated = true ||',
  ]),
  mutant('I8', 'claude-forgets-model', 'a model is gone by one 404', [
    'worker/recovery/policy.ts',
    'return isOwnFinding(failure) ? undefined : repeat;',
    "return isOwnFinding(failure) || failure.kind === 'model' ? undefined : repeat;",
  ]),
  mutant('I5', 'claude-searches', 'a search that was cut off goes back without its result', [
    ['worker/session/turns.ts', 'if (rest.length === answer.blocks.length) return;', 'if (rest) return;'],
    ['worker/model/claude/adapter.ts', 'if (violation === undefined) return sendCall(', 'if (wire) return sendCall('],
    ['worker/ask/words.ts', "content.at(-1)?.type.endsWith('tool_use')", "content.at(-1)?.type === 'tool_use'"],
  ]),
  mutant('I5', 'claude-searches', 'a citation goes back with the file that it names', [
    [
      'worker/model/rules/blocks.ts',
      'if (!Array.isArray(citations) || citations.every(isAccepted)) return result;',
      'if (result) return result;',
    ],
    ['worker/model/claude/adapter.ts', 'if (violation === undefined) return sendCall(', 'if (wire) return sendCall('],
  ]),
];

/** Against slow replies, where the sound product needs longer. */
const SLOW_MODEL = [
  mutant('I1', 'claude-writes-slowly', 'what the model has said is not kept', [
    'worker/ask/words.ts',
    "if (partial === '') return [];",
    'if (true) return [];',
  ]),
  mutant('I1', 'claude-writes-slowly', 'a turn ends by its length', [
    'worker/turn/deadline.ts',
    'if (isRunning) silenceTimer.refresh();',
    '',
  ]),
  mutant('I6', 'claude-summarises-for-ever', 'a summary may take for ever', [
    'worker/recovery/compact.ts',
    'performance.now() + settings.SUMMARY_TIME_MS',
    'performance.now() + 3_600_000',
  ]),
];

/** What people decide about tools, what operators do by buttons, and what is said where the bot is no part of the chat. */
const PEOPLE = [
  mutant('I12', 'consent-declined', 'the policy is asked before the stored decision', [
    'worker/tools/asking.ts',
    'const how = decision?.calls?.[call.id];',
    'const how = needsApproval(call, policy) ? decision?.calls?.[call.id] : undefined;',
  ]),
  mutant('I12', 'consent-granted', 'a grant outlives the definition that it was given for', [
    'worker/tools/asking.ts',
    'grant.definition === definition && ',
    '',
  ]),
  mutant('I12', 'killed-act-done', 'the second of two presses takes the result of the first one off the alert', [
    'worker/features/desk/act.ts',
    "if (effect !== 'done' && note?.result !== undefined)",
    "if (effect === 'failed' && note?.result !== undefined)",
  ]),
  mutant('I12', 'killed-act-done', 'a press that is repeated after a crash does not know what is on record of it', [
    'worker/operator/act.ts',
    'const earlierRun = entry === undefined ? undefined : await actionOf(at.redis, entry);',
    "const earlierRun = entry !== '0-0' ? undefined : await actionOf(at.redis, entry);",
  ]),
  mutant('I12', 'killed-summons-noted', 'what stands where the bot was called is not noted', [
    'shared/state/turn/summons.lua',
    "if ARGV[2] ~= '' then",
    'if false then',
  ]),
  mutant('I12', 'killed-summons-answered', 'an answer that can stand nowhere counts as delivered', [
    'worker/features/guests/feature.ts',
    "if (delivery.kind !== 'refused') return delivery;",
    "if (delivery.kind === 'refused') return { kind: 'delivered', record: { parts: 1, confirmed: 1, unsure: 0 } };\n  if (delivery.kind) return delivery;",
  ]),
];

/** Of a process against files that cost too much, and against standing still. */
const PROCESS = [
  mutant('I12', 'decoder-killed', 'a decoder that is killed costs its file', [
    'worker/media/decoding.ts',
    'const TRIES_MAX = 2;',
    'const TRIES_MAX = 1;',
  ]),
  mutant('I12', 'decoder-killed', 'a decoder takes any memory', [
    'worker/media/decoding.ts',
    '\'ulimit -d "$1"\'',
    "'true'",
  ]),
  mutant('I12', 'gateway-loop-frozen', 'nobody watches the event loop', [
    'shared/app/loop-watch.ts',
    'if (standstillMs < frozen.frozenMs) return;',
    'if (standstillMs >= 0) return;',
  ]),
  mutant('I8', 'gateway-loop-frozen', 'an unclean end is not told', [
    'shared/state/process/workers.ts',
    'if (isGone) await reportEnd(',
    'if (isGone) void (',
  ]),
];

/** Of those who watch. The endpoint fails for long in these scenarios, so the sound product needs longer than usual. */
const WATCHERS = [
  mutant('I8', 'book-unknown', 'an incident of another version is taken for one of ours', [
    'worker/alerts/book-store.ts',
    '.refine((cause) => rowOf(cause) !== undefined)',
    '',
  ]),
  mutant('I8', 'book-unknown', 'an alert with an unknown cause is entered as it is', [
    'worker/alerts/book-store.ts',
    'return rowOf(alert.cause) ? alert :',
    'return alert.text ? alert :',
  ]),
  mutant('I8', 'state-unreadable', 'a rule that throws ends the look', [
    'worker/alerts/watch-failure.ts',
    'failures.push({ what: nameOf(one), error });',
    'throw failures.length > 1e9 ? nameOf(one) : error;',
  ]),
  mutant('I8', 'state-unreadable', 'what cannot be read ends the look', [
    'worker/alerts/watch-failure.ts',
    'errors.find((error) => !isAboutData(error));',
    'errors.find((error) => !isAboutData(error) || error);',
  ]),
  mutant('I8', 'redis-clock-back', 'what lies ahead of the clock stays young', [
    'worker/watch/sightings.ts',
    'return Math.round(nowMs - (steadyMs() - firstMs));',
    'return Math.max(nowMs, firstMs);',
  ]),
  mutant('I8', 'redis-clock-back', 'the rate of alerts is held against a clock that stepped back', [
    'worker/alerts/alerter.ts',
    'withoutFutureTimes(leaseStart.record, nowMs)',
    'leaseStart.record',
  ]),
  mutant('I8', 'pause-busy', 'a pause hides every chat', [
    'shared/state/lane/overdue.lua',
    "paused['*'] or paused[chat]",
    'next(paused) ~= nil',
  ]),
];

const PATIENCE_S = 30;

/** The safeguards around the flow. */
export const OTHER_MUTANTS: readonly Mutant[] = [
  ...MODEL,
  ...PEOPLE,
  ...PROCESS,
  ...[...SLOW_MODEL, ...WATCHERS].map((mutant) => slow(PATIENCE_S, mutant)),
];
