import { expect, test } from '@jest/globals';
import type { HandedOver } from '../../../../shared/state/incident/notices.ts';
import { afterTelling, handoverOf, keyOf, owedHandover, type Told } from '../../../../worker/alerts/handover.ts';

const NOW = 1_800_000_000_000;
const KEYED = { hasKeys: true, takesPages: false };
const KEY = keyOf('here', 'provider', NOW);
const EARLIER = keyOf('here', 'provider', NOW - 3600_000);
const FACTS = { what: 'No call goes through.', openedMs: NOW, messages: 1, chats: 1 };

const opening: Told = { incident: 'provider', kind: 'opened', text: 'All of it.', links: [], facts: FACTS };
const change: Told = { ...opening, kind: 'grown', update: 'It grew.' };
const end: Told = { ...opening, kind: 'resolved', update: 'It is over.' };

/** What follows once somebody took it, where these openings were handed over before. */
function after(told: Told, by: string | undefined, keys: readonly string[] = [], second = KEYED) {
  const handed = new Map<string, HandedOver>(keys.map((key, at) => [key, { incident: 'provider', atMs: at }]));
  const { owed, ...rest } = afterTelling(second, handoverOf(told, handed, 'here'), by, handed, NOW);
  const said = owed.map(({ to, text }) => [to, text === '' ? 'dropped' : owedHandover(text)?.isOver ? 'over' : 'open']);
  return { owed: said, handed: [...rest.handed].map(([key, opened]) => [key, opened !== undefined]) };
}

const NOTHING = { owed: [], handed: [] };

test.each([
  [
    'what the webhook took is known by its key, and nothing older is owed',
    opening,
    'webhook',
    [],
    [KEY, 'dropped'],
    [KEY, true],
  ],
  ['an end that it took is the last', end, 'webhook', [KEY], [KEY, 'dropped'], [KEY, false]],
  ['an end that Telegram took is owed to it', end, 'telegram', [KEY], [KEY, 'over'], [KEY, false]],
  ['so is a change', change, 'telegram', [KEY], [KEY, 'open'], [KEY, true]],
  ['an opening that was noted and that Telegram took is not', opening, 'telegram', [KEY], undefined, [KEY, true]],
])('%s', (_, told, by, keys, owed, handed) => {
  expect(after(told, by, keys)).toEqual({ owed: owed ? [owed] : [], handed: [handed] });
});

test.each([
  ['an opening', opening, 'telegram'],
  ['a change', change, 'telegram'],
  ['an end', end, 'telegram'],
  ['what nobody took', end, undefined],
])('%s concerns it only if it was told of the opening', (_, told, by) => {
  expect(after(told, by)).toEqual(NOTHING);
});

test('an earlier opening whose end nobody told ends with the next one, where there are keys', () => {
  const ends = {
    handed: [
      [EARLIER, false],
      [KEY, true],
    ],
  };
  expect(after(opening, 'webhook', [EARLIER])).toEqual({
    ...ends,
    owed: [
      [KEY, 'dropped'],
      [EARLIER, 'over'],
    ],
  });
  expect(after(opening, 'webhook', [EARLIER], { ...KEYED, hasKeys: false })).toEqual({
    ...ends,
    owed: [[KEY, 'dropped']],
  });
});

test('the end of an incident ends all its openings', () => {
  const { owed } = after(end, 'telegram', [EARLIER, KEY]);
  expect(owed).toEqual([
    [KEY, 'over'],
    [EARLIER, 'over'],
  ]);
});

test('always: a page is owed at once and once, whatever became of it, and also to what has no keys', () => {
  const always = { hasKeys: false, takesPages: true };
  for (const by of [undefined, 'telegram'])
    expect(after(opening, by, [], always)).toEqual({ owed: [[KEY, 'open']], handed: [[KEY, true]] });
  expect(after(opening, undefined, [KEY], always)).toEqual(NOTHING);
  expect(after(change, 'telegram', [KEY], always).owed).toEqual([[KEY, 'open']]);
});
