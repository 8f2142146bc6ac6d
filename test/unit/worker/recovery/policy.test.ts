import { expect, test } from '@jest/globals';
import type { Failure } from '../../../../worker/model/errors/failure.ts';
import { decide, FAILED_CALLS_MAX, isOfSize, isOutage } from '../../../../worker/recovery/policy.ts';
import type { RecoveryState, Sizes, Step } from '../../../../worker/recovery/state.ts';
import { failure, LIMITS, ROOM, SIZES, STATE, token } from '../../../fixture/recovery-state.ts';

const counted = failure('token', { reason: 'counted_too_long', observedTokens: 190_000, limitTokens: 200_000 });
const unknown = failure('unknown');
const media = failure('media', { reason: 'media_rejected' });
const down = failure('transient', { reason: 'overloaded' });
const broken = failure('transient', { reason: 'server_error' });
const budget = failure('transient', { reason: 'over_chat_budget' });

const sized = (more: Partial<Sizes>): Partial<RecoveryState> => ({ sizes: { ...SIZES, ...more } });
const small = sized({ request: 3_000 });
const bigRound = sized({ round: 150_000 });
const learnt = sized({ knownWindow: 150_000, request: 170_000 });
const TAKEN = { fixedParts: { kind: 'taken' } } as const;
const REFUSED = { fixedParts: { kind: 'refused' } } as const;
const UNCLEAR = { fixedParts: { kind: 'unclear', failure: down } } as const;

const ASK_COUNT: Step = { do: 'ask', what: 'count' };
const ASK_FIXED_PARTS: Step = { do: 'ask', what: 'fixed parts' };
const REPEAT: Step = { do: 'repeat', delayMs: 2_000 };
const AS_IT_IS: Step = { do: 'send as it is' };
const COMPACT: Step = { do: 'compact', how: 'summary' };
const MASK: Step = { do: 'compact', how: 'mask' };
const QUOTELESS: Step = { do: 'fresh session', quotes: false, isTrial: true };
const fresh = (isTrial: boolean): Step => ({ do: 'fresh session', quotes: true, isTrial });
const fails = (trouble: Extract<Step, { do: 'fail' }>['trouble']): Step => ({ do: 'fail', trouble });
const leavesOut = (what: Extract<Step, { do: 'leave out' }>['what']): Step => ({ do: 'leave out', what });
const WAITS = { do: 'wait', isUncounted: true } as const;

type Case = [what: string, state: Partial<RecoveryState>, failure: Failure, step: Partial<Step>];

// biome-ignore format: one case a line.
const CASES: readonly Case[] = [
  ['a budget that is used up refuses the message', {}, budget, { do: 'refuse', why: budget }],
  // Rule 1
  ['an outage is waited out', {}, down, { ...WAITS, tries: 1, delayMs: 2_000, waitedMs: 2_000, isLong: false }],
  ['a wait ends when the person is to be told', { outage: { waitedMs: 55_000, tries: 5 } }, down, { ...WAITS, delayMs: 5_000, isLong: false }],
  ['a wait ends with patience', { outage: { waitedMs: 899_000, tries: 40 } }, down, { ...WAITS, delayMs: 1_000 }],
  ['a wait that the endpoint asks for is obeyed', {}, { ...down, retryAfterMs: 200_000 }, { ...WAITS, delayMs: 200_000, isLong: true }],
  ['the wait of the breaker is exact', {}, failure('transient', { reason: 'paused', retryAfterMs: 4_321 }), { ...WAITS, delayMs: 4_321 }],
  ['an outage that outlasts patience fails the message, and nothing else', { outage: { waitedMs: 900_000, tries: 40 } }, down, fails('endpoint')],
  ['so does one that cut an answer, also after a refused message', { outage: { waitedMs: 900_000, tries: 40 }, hasWords: true, refusedInRow: 1 }, down, fails('endpoint')],
  ['a 4xx is an outage by its words three times', { outage: { waitedMs: 9, tries: 3 } }, { ...down, status: 400 }, fails('endpoint')],
  ['a 429 is one by its status', { outage: { waitedMs: 9, tries: 3 } }, { ...down, status: 429 }, WAITS],
  ['other passing trouble is bounded by attempts', { attempts: 2 }, failure('transient', { reason: 'unknown' }), { do: 'wait', isUncounted: false, delayMs: 5_000 }],
  ['and then it fails', { attempts: 5 }, failure('transient', { reason: 'unknown' }), fails('endpoint')],
  ['a call that fell silent twice ends the message', { silences: 2 }, down, fails('silence')],
  ['a later wait is longer', { outage: { waitedMs: 5_000, tries: 1 } }, down, { ...WAITS, delayMs: 5_000 }],
  ['after the notice it is bounded by half a minute', { outage: { waitedMs: 60_000, tries: 5 } }, down, { ...WAITS, delayMs: 30_000 }],
  ['a shorter wait than our own is not asked for', {}, { ...down, retryAfterMs: 500 }, { ...WAITS, delayMs: 2_000 }],
  ['but for that of the breaker', {}, failure('transient', { reason: 'paused', retryAfterMs: 500 }), { ...WAITS, delayMs: 500 }],
  ['a wait of a minute is told', {}, { ...down, retryAfterMs: 60_000 }, { ...WAITS, isLong: true }],
  ['a 500 is an outage however often', { outage: { waitedMs: 9, tries: 3 } }, { ...down, status: 500 }, WAITS],
  // Rule 2
  ['a refusal that our count agrees with is believed', {}, token, COMPACT],
  ['from 80 % of the window on', sized({ request: 160_000 }), token, COMPACT],
  ['below it, the count of the endpoint is asked', sized({ request: 159_999 }), token, ASK_COUNT],
  ['and believed', { ...small, evidence: { count: 160_000 } }, token, COMPACT],
  ['if it disagrees, the request is repeated', { ...small, evidence: { count: 3_000 } }, token, REPEAT],
  ['as where the endpoint offers no count', { ...small, evidence: { count: 'unknown' } }, token, REPEAT],
  ['then the fixed parts are asked', { ...small, tried: ['repeat token'], evidence: { count: 3_000 } }, token, ASK_FIXED_PARTS],
  ['if they are taken, the refusal is believed', { ...small, tried: ['repeat token'], evidence: { count: 3_000, ...TAKEN } }, token, COMPACT],
  ['if they are refused, the endpoint is confused', { ...small, tried: ['repeat token'], evidence: { count: 3_000, ...REFUSED } }, token, WAITS],
  ['until patience is over', { ...small, tried: ['repeat token'], evidence: { count: 1, ...REFUSED }, outage: { waitedMs: 900_000, tries: 9 } }, token, fails('fixed parts')],
  ['an error that counts the request as we do is believed at once', small, { ...token, observedTokens: 3_900, limitTokens: 3_500 }, COMPACT],
  ['one that counts another request is not', small, { ...token, observedTokens: 3_901, limitTokens: 3_500 }, ASK_COUNT],
  ['nor one that states no limit', small, { ...token, observedTokens: 3_000 }, ASK_COUNT],
  ['fixed parts that do not fit are asked alone', sized({ fixed: 199_000 }), token, ASK_FIXED_PARTS],
  ['and are the trouble of the installation', { ...sized({ fixed: 199_000 }), evidence: REFUSED }, counted, fails('fixed parts')],
  ['any other refusal is repeated', {}, unknown, REPEAT],
  ['also one of a file', {}, media, REPEAT],
  ['one that another model seconded is not', {}, failure('refusal', { isSeconded: true }), ASK_FIXED_PARTS],
  ['a key that is refused twice is the trouble of the account', { tried: ['repeat terminal'] }, failure('terminal'), fails('account')],
  ['after a refused message, too, if the fixed parts are refused', { tried: ['repeat terminal'], refusedInRow: 1, evidence: REFUSED }, failure('terminal'), fails('account')],
  ['a model that cannot be used is the trouble of the account', { tried: ['repeat model'] }, failure('model'), fails('account')],
  ['a model that the chat chose is left for the default one', { tried: ['repeat model'], isModelChosen: true }, failure('model'), { do: 'use default model' }],
  ['whatever it refuses the fixed parts with', { tried: ['repeat unknown'], isModelChosen: true, evidence: REFUSED }, unknown, { do: 'use default model' }],
  ['a tool that the endpoint names is excluded', { tried: ['repeat unknown'], evidence: { fixedParts: { kind: 'refused', failure: { ...unknown, tool: 'bad' } } } }, unknown, { do: 'exclude tools', named: 'bad' }],
  ['fixed parts that could not be asked are waited for', { tried: ['repeat unknown'], evidence: UNCLEAR }, unknown, WAITS],
  ['until patience is over as well', { tried: ['repeat unknown'], evidence: UNCLEAR, outage: { waitedMs: 900_000, tries: 9 } }, unknown, fails('endpoint')],
  ['without a word of their trouble, too', { tried: ['repeat unknown'], evidence: { fixedParts: { kind: 'unclear' } } }, unknown, { ...WAITS, why: broken }],
  ['fixed parts that leave room for an answer are not asked', sized({ fixed: 200_000 - 1_024 }), token, COMPACT],
  // Rule 3
  ['a large newest round is trimmed, after a count', bigRound, counted, ASK_COUNT],
  ['below the level at which the session is compacted', { ...bigRound, evidence: { count: 190_000 } }, counted, { do: 'trim', tokens: 86_000 }],
  ['twice at most', { ...bigRound, tried: ['trim', 'trim'] }, counted, COMPACT],
  ['not where the conversation leaves it little room', sized({ round: 90_000 }), counted, COMPACT],
  ['but where it does not fit alone', { ...sized({ round: 183_000, request: 320_000 }), evidence: { count: 'unknown' } }, counted, { do: 'trim', tokens: 36_800 }],
  ['and in a fresh session', { ...sized({ round: 90_000 }), stage: 'fresh', evidence: { count: 'unknown' } }, counted, { do: 'trim', tokens: 36_800 }],
  ['not where a load left out records', { ...bigRound, isOmitting: true }, counted, COMPACT],
  ['a round that fits exactly is not trimmed', sized({ round: 126_000, request: 126_000, fixed: 0 }), counted, COMPACT],
  // Rule 4
  ['what does not fit after a compaction goes on in a fresh session', { stage: 'compacted', evidence: { count: 190_000 } }, token, fresh(false)],
  ['on trial where our count contradicts', { ...small, stage: 'compacted', tried: ['repeat token'], evidence: { count: 3_000, ...TAKEN } }, token, fresh(true)],
  ['not before the endpoint has counted', { stage: 'compacted' }, token, ASK_COUNT],
  ['and in the fresh session it fails', { stage: 'fresh', evidence: { count: 190_000 } }, token, fails('message')],
  ['a session that refills at once is left', { vainCompactions: 3, evidence: { count: 190_000 } }, counted, fresh(false)],
  ['so is one without a summary', { evidence: { count: 190_000, compaction: { reason: 'useless', tookMs: 0 } }, ...sized({ statedUsable: 1 }) }, counted, fresh(false)],
  ['a request that fits the model goes without a summary', { evidence: { compaction: { reason: 'useless', tookMs: 0 } }, ...sized({ request: 150_000 }) }, counted, AS_IT_IS],
  ['in later rounds, too', { tried: ['summary'], ...sized({ request: 150_000 }) }, counted, AS_IT_IS],
  ['not one that was refused', { evidence: { compaction: { reason: 'useless', tookMs: 0 }, count: 190_000 } }, token, fresh(false)],
  ['a request that the endpoint counts to fit is sent', { stage: 'compacted', evidence: { count: 100_000 } }, counted, AS_IT_IS],
  ['a request beyond a learnt window is sent once', learnt, counted, AS_IT_IS],
  ['only once', { ...learnt, tried: ['as it is'] }, counted, COMPACT],
  ['and not after another failure', { ...learnt, failedCalls: 2 }, counted, COMPACT],
  ['nor where the budget of the chat is smaller', sized({ knownWindow: 150_000, request: 170_000, room: { ...ROOM, limitTokens: 140_000 } }), counted, COMPACT],
  ['nor as long as the newest round can be trimmed', { tried: ['summary'], ...sized({ request: 170_000, round: 150_000 }) }, counted, ASK_COUNT],
  ['what only we count too long is sent at last', { stage: 'fresh', evidence: { count: 190_000 } }, counted, AS_IT_IS],
  ['a summariser in trouble is waited for', { evidence: { compaction: { reason: 'away', tookMs: 0, failure: down } } }, token, WAITS],
  ['for a minute, then the endpoint is asked', { outage: { waitedMs: 60_000, tries: 5 }, evidence: { compaction: { reason: 'away', tookMs: 0, failure: down } } }, token, ASK_FIXED_PARTS],
  ['if it answers, old results are masked instead', { outage: { waitedMs: 60_000, tries: 5 }, evidence: { ...TAKEN, count: 190_000, compaction: { reason: 'away', tookMs: 0, failure: down } }, }, token, MASK],
  ['if that is not enough, the summary has failed', { tried: ['mask'], outage: { waitedMs: 60_000, tries: 5 }, evidence: { ...TAKEN, count: 190_000, compaction: { reason: 'away', tookMs: 0, failure: down } }, }, token, fresh(false)],
  ['patience ends that wait as well', { outage: { waitedMs: 900_000, tries: 5 }, evidence: { ...UNCLEAR, compaction: { reason: 'away', tookMs: 0, failure: down } }, }, token, fails('endpoint')],
  ['a summary over budget refuses the message', { evidence: { compaction: { reason: 'away', tookMs: 0, failure: budget } } }, token, { do: 'refuse', why: budget }],
  ['a summary that the account may not have costs no history', { evidence: { compaction: { reason: 'refused', tookMs: 0, failure: failure('terminal', { reason: 'billing' }) } } }, token, fails('account')],
  ['a request that fits the model exactly goes without a summary', { tried: ['summary'], ...sized({ request: ROOM.usableTokens }) }, counted, AS_IT_IS],
  ['not one that was refused, in later rounds', { tried: ['summary'], ...sized({ request: 170_000 }) }, token, ASK_COUNT],
  ['nor one beyond a learnt window after a compaction', { ...learnt, stage: 'compacted' }, counted, ASK_COUNT],
  ['a learnt window is the whole room', sized({ knownWindow: 150_000, request: 170_000, room: { ...ROOM, limitTokens: 150_000 } }), counted, AS_IT_IS],
  ['a count that fits exactly is enough', { stage: 'compacted', evidence: { count: ROOM.usableTokens } }, counted, AS_IT_IS],
  ['our own count is no contradiction', { ...small, refusedInRow: 1 }, counted, COMPACT],
  ['a minute of a summary is over with the next wait', { evidence: { compaction: { reason: 'away', tookMs: 58_000, failure: down } } }, token, ASK_FIXED_PARTS],
  ['and not before', { evidence: { compaction: { reason: 'away', tookMs: 57_999, failure: down } } }, token, WAITS],
  ['or with patience', { outage: { waitedMs: 900_000, tries: 5 }, evidence: { compaction: { reason: 'away', tookMs: 0, failure: down } } }, token, ASK_FIXED_PARTS],
  ['a summary that is not permitted costs no history', { evidence: { compaction: { reason: 'refused', tookMs: 0, failure: failure('unknown', { reason: 'permission' }) } } }, token, fails('account')],
  ['one that is refused for its content is a failed one', { evidence: { compaction: { reason: 'refused', tookMs: 0, failure: unknown } } }, token, ASK_COUNT],
  // Rule 5
  ['output that does not fit is changed', {}, failure('fit'), { do: 'change output' }],
  ['twice', { tried: ['output'] }, failure('output'), { do: 'change output' }],
  ['then input and output are too long', { tried: ['output', 'output'] }, failure('fit'), COMPACT],
  ['or the message fails', { tried: ['output', 'output'] }, failure('output'), fails('message')],
  ['other steps do not count', { tried: ['trim', 'trim', 'output'] }, failure('fit'), { do: 'change output' }],
  // Rule 6
  ['the media that an error names are left out', { tried: ['repeat media'] }, media, leavesOut('named media')],
  ['then those of the newest message', { tried: ['repeat media', 'named media'] }, media, leavesOut('newest media')],
  ['then all', { tried: ['repeat media', 'named media', 'newest media'] }, media, leavesOut('all media')],
  ['the largest parts of a body that is too large', {}, failure('wire', { reason: 'counted_too_large' }), leavesOut('largest parts')],
  ['the fixed parts are asked before the history goes', { tried: ['largest parts'] }, failure('wire', { reason: 'counted_too_large' }), ASK_FIXED_PARTS],
  // Rule 7
  ['thinking is left out first', { tried: ['repeat poison'] }, failure('poison'), leavesOut('thinking')],
  ['a refused history is left on trial', { tried: ['repeat unknown'], evidence: TAKEN }, unknown, fresh(true)],
  ['the newest results first', { tried: ['repeat unknown'], isMidTurn: true, evidence: TAKEN }, unknown, leavesOut('results')],
  ['the history after them', { tried: ['repeat unknown', 'results'], isMidTurn: true, evidence: TAKEN }, unknown, fresh(true)],
  ['a first message that is refused fails', { tried: ['repeat unknown'], hasHistory: false, evidence: TAKEN }, unknown, fails('message')],
  ['a trial that is refused fails the message', { tried: ['repeat unknown'], isOnTrial: true }, unknown, fails('message')],
  ['but for results that came in it', { tried: ['repeat unknown'], isOnTrial: true, isMidTurn: true, evidence: TAKEN }, unknown, leavesOut('results')],
  ['a request that breaks a rule of ours is left at once', { evidence: {} }, failure('poison', { reason: 'invalid_request' }), fresh(true)],
  // Rule 8
  ['the second refused message is tried without a quote', { tried: ['repeat unknown'], refusedInRow: 1, evidence: TAKEN }, unknown, QUOTELESS],
  ['also one that is too long for no reason', { ...small, tried: ['repeat token'], refusedInRow: 1, evidence: { count: 1, ...TAKEN } }, token, QUOTELESS],
  ['or too long in a fresh session', { stage: 'fresh', refusedInRow: 1, evidence: { count: 190_000, ...TAKEN } }, token, QUOTELESS],
  ['whatever the kind', { tried: ['repeat terminal'], refusedInRow: 1, evidence: TAKEN }, failure('terminal'), QUOTELESS],
  ['once the fixed parts are taken', { outage: { waitedMs: 900_000, tries: 9 }, refusedInRow: 1 }, broken, ASK_FIXED_PARTS],
  ['and only then', { outage: { waitedMs: 900_000, tries: 9 }, refusedInRow: 1, evidence: UNCLEAR }, broken, fails('endpoint')],
  ['never for an outage', { outage: { waitedMs: 900_000, tries: 9 }, refusedInRow: 1, evidence: TAKEN }, down, fails('endpoint')],
  ['once', { stage: 'fresh', tried: ['quoteless'], refusedInRow: 1, evidence: { count: 190_000, ...TAKEN } }, token, fails('message')],
  ['the sixth failed call keeps its cause', { failedCalls: FAILED_CALLS_MAX }, failure('terminal'), fails('account')],
  ['as that of a model', { failedCalls: FAILED_CALLS_MAX }, failure('model'), fails('account')],
  ['nor is it followed by a replay', { outage: { waitedMs: 900_000, tries: 9 }, failedCalls: FAILED_CALLS_MAX, refusedInRow: 1 }, broken, fails('endpoint')],
  ['an unknown trouble that lasts is a refusal', { attempts: 5, refusedInRow: 1 }, failure('transient', { reason: 'unknown' }), ASK_FIXED_PARTS],
  ['the sixth failed call ends the message', { failedCalls: FAILED_CALLS_MAX }, unknown, fails('message')],
];

test.each(CASES)('%s', (_what, state, seen, step) => {
  expect(decide({ ...STATE, ...state }, seen, LIMITS)).toMatchObject(step);
});

test.each([
  ['overloaded', true],
  ['paused', true],
  ['rate_limited', true],
  ['aborted', false],
  ['unknown', false],
] as const)("trouble with the reason %s is the endpoint's: %s", (reason, expected) => {
  expect(isOutage({ kind: 'transient', reason })).toBe(expected);
  expect(isOutage({ kind: 'unknown', reason })).toBe(false);
});

test('size is told by tokens', () => {
  const sizes = (['token', 'fit', 'wire', 'output'] as const).map((kind) => isOfSize({ kind }));
  expect(sizes).toEqual([true, true, false, false]);
});
