import { expect, test } from '@jest/globals';
import type { Cause } from '../../../../shared/flow/alert.ts';
import { ALERT_WORDS } from '../../../../worker/alerts/causes/words.ts';
import { actsFor, CAUSES } from '../../../../worker/alerts/causes.ts';

const causes = Object.entries(CAUSES) as [Cause, (typeof CAUSES)[Cause]][];

test('every cause except a fact has a text for its end', () => {
  expect(causes.filter(([, { end = '' }]) => end === '').map(([cause]) => cause)).toEqual(
    causes.filter(([, { endsBy }]) => endsBy === 'fact').map(([cause]) => cause),
  );
});

test('a button that a text names has that label, among those that its cause offers', () => {
  const named = causes.flatMap(([cause, { todo = '' }]) =>
    [...todo.matchAll(/“([^”]*)”/g)].map(([, label]) => ({ cause, label })),
  );
  expect(named).toContainEqual({ cause: 'failed', label: ALERT_WORDS.acts.replay });
  expect(named.filter(({ cause, label }) => !actsFor(cause).some((name) => ALERT_WORDS.acts[name] === label))).toEqual(
    [],
  );
});
