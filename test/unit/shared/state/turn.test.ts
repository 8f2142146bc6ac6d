import { expect, test } from '@jest/globals';
import { type ChatKey, type EntryId, keysOf, type LaneKey, type SessionId } from '../../../../shared/redis/keys.ts';
import type { FencedWrites } from '../../../../shared/state/change.ts';
import { type EndedAttempt, endsIn } from '../../../../shared/state/turn/aspects.ts';
import { TurnRecord } from '../../../../shared/state/turn/record.ts';
import { Turn } from '../../../../shared/state/turn/turn.ts';

const END: EndedAttempt = { atMs: 1, attempt: 1, reason: 'overloaded', delayMs: 5 };

test('an ended attempt is added to those before, of which the newest twenty stay', () => {
  const before = Array.from({ length: 20 }, (_, at) => ({ ...END, attempt: at + 1 }));
  const turn = new TurnRecord('turn', new Map([['ended', JSON.stringify(before)]]));
  const [, set] = turn.endAttempt({ ...END, attempt: 21 });
  expect(endsIn(String(set?.at(-1))).map(({ attempt }) => attempt)).toEqual(
    Array.from({ length: 20 }, (_, at) => at + 2),
  );
});

test.each([[undefined], ['{"torn'], ['{}'], ['5']])('the ends in %j are none', (json) => {
  expect(endsIn(json)).toEqual([]);
});

/** A turn of a message that was accepted ten seconds after the epoch. */
function turnAt(nowMs: number, turnFields = new Map<string, string>()): Turn {
  const none = new Map<string, string>();
  const fields = { entryFields: none, turnFields, sessionFields: none, chatFields: none, session: 's' as SessionId };
  const place = { entry: '10000-0' as EntryId, lane: '1' as LaneKey, currentChat: '1' as ChatKey };
  const source = { keys: keysOf(0), chats: new Map(), nowMs: () => nowMs };
  return new Turn({ ...place, ...fields, messagesBehind: 0, absence: '' }, source, {} as FencedWrites);
}

test('after a call went through, the turn waits for no endpoint, and keeps the rest', () => {
  const fields = new Map(Object.entries({ outageWaitedMs: '5', outageTries: '2', said: 'Hello', notices: '["A"]' }));
  const turn = turnAt(0, fields).withoutOutage();
  expect(turn.waits.outage).toEqual({ waitedMs: 0, tries: 0 });
  expect(turn.partialAnswer).toEqual({ text: 'Hello', recordedChars: 0 });
  expect(turn.with({ rounds: 2 })).toMatchObject({ rounds: 2, notices: ['A'] });
  expect(turn.rounds).toBe(0);
});

test.each([
  ['the time since its acceptance', 10_250, 250],
  ['0 where the clock is behind: nothing waits because of that', 4_000, 0],
])('the age of a message is %s', (_what, nowMs, expected) => {
  expect(turnAt(nowMs).ageMs()).toBe(expected);
});
