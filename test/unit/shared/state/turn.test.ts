import { expect, test } from '@jest/globals';
import { type EndedAttempt, endsIn } from '../../../../shared/state/turn/aspects.ts';
import { Turn } from '../../../../shared/state/turn/turn.ts';

const END: EndedAttempt = { atMs: 1, attempt: 1, reason: 'overloaded', delayMs: 5 };

test('an ended attempt is added to those before, of which the newest twenty stay', () => {
  const before = Array.from({ length: 20 }, (_, at) => ({ ...END, attempt: at + 1 }));
  const turn = new Turn('turn', new Map([['ended', JSON.stringify(before)]]));
  const [, set] = turn.endAttempt({ ...END, attempt: 21 });
  expect(endsIn(String(set?.at(-1))).map(({ attempt }) => attempt)).toEqual(
    Array.from({ length: 20 }, (_, at) => at + 2),
  );
});

test.each([[undefined], ['{"torn'], ['{}'], ['5']])('the ends in %j are none', (json) => {
  expect(endsIn(json)).toEqual([]);
});

test('after a call went through, the turn waits for no endpoint, and keeps the rest', () => {
  const turn = new Turn(
    'turn',
    new Map([
      ['outageWaitedMs', '5'],
      ['outageTries', '2'],
      ['said', 'Hello'],
    ]),
  );
  expect(turn.withoutOutage().waits.outage).toEqual({ waitedMs: 0, tries: 0 });
  expect(turn.withoutOutage().said).toEqual({ text: 'Hello', recordedChars: 0 });
});
