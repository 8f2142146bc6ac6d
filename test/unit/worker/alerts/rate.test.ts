import { expect, test } from '@jest/globals';
import {
  nextOutgoing,
  type QueuedNotice,
  RINGS_PER_HOUR,
  recentOf,
  SENDS_PER_MINUTE,
} from '../../../../worker/alerts/alerter.ts';

const NOW = 1_800_000_000_000;

let made = 0;
function notice(incident: string, part: Partial<QueuedNotice> = {}): QueuedNotice {
  made += 1;
  const page = { text: `Message ${made} of ${incident}.`, entities: [], links: [] };
  return { id: `${NOW - 1_000 + made}-0`, incident, kind: 'opened', ...page, ...part };
}
const change = (incident: string, part: Partial<QueuedNotice> = {}) =>
  notice(incident, { kind: 'changed', update: `Changed: ${incident}`, ...part });

test('what is sent long after it was due says of when it is, in the message where that is new, and else in the reply', () => {
  const [one, other] = [notice('a'), change('a', { text: 'All of it.' })];
  const NIGHT_MS = 8 * 3600_000;
  expect(nextOutgoing([one], [], NOW + 60_000)?.text).toBe(one.text);
  expect(nextOutgoing([one], [], NOW + NIGHT_MS)?.text).toBe(
    `${one.text}\nSent late: this is of 2027-01-15 07:59:59 UTC.`,
  );
  expect(nextOutgoing([other], [], NOW + NIGHT_MS)).toMatchObject({
    text: 'All of it.',
    update: 'Changed: a\nSent late: this is of 2027-01-15 07:59:59 UTC.',
  });
});

test('sends nothing for an empty queue, and opens each incident with a message of its own, oldest first', () => {
  expect(nextOutgoing([], [], NOW)).toBeUndefined();
  const [one, other] = [notice('a'), notice('b')];
  expect(nextOutgoing([one, other], [], NOW)).toEqual({
    ...{ ids: [one.id], incident: 'a', kind: 'opened', isSilent: false, isNote: false },
    ...{ text: one.text, entities: [], links: [] },
  });
});

test('all that waits about an incident is told at once, as its newest notice has it', () => {
  const [opened, other, changed, over] = [
    notice('a'),
    notice('b'),
    change('a'),
    change('a', { kind: 'resolved', update: 'Resolved: a' }),
  ];
  const told = nextOutgoing([opened, other, changed, over], [], NOW);
  expect(told).toMatchObject({
    ...{ ids: [opened.id, changed.id, over.id], incident: 'a', kind: 'resolved', text: over.text, isSilent: false },
  });
  expect(nextOutgoing([changed, over], [], NOW)).toMatchObject({ update: 'Resolved: a', text: over.text });
});

test('an incident that opens again has a message of its own, and the one before it says that it was over', () => {
  const [over, again] = [change('a', { kind: 'resolved' }), notice('a', { kind: 'reopened' })];
  expect(nextOutgoing([over, again], [], NOW)).toMatchObject({ ids: [over.id], kind: 'resolved', text: over.text });
});

test('what the message alone says rings nobody, and what it has no room for is told by itself', () => {
  const silent = change('a', { kind: 'grown', update: 'Chat 1', manner: 'silent' });
  expect(nextOutgoing([silent], [], NOW)).toMatchObject({ isSilent: true, text: silent.text });
  const [one, other] = [1, 2].map((n) => change('a', { kind: 'grown', update: `Chat ${n}`, manner: 'naming' }));
  const over = change('a', { kind: 'resolved' });
  const all = [silent, one, other, over].filter((each) => each !== undefined);
  expect(nextOutgoing(all, [], NOW)).toMatchObject({
    ...{ ids: [silent.id, one?.id], update: 'Chat 1', kind: 'grown', text: over.text, isSilent: false },
  });
  const opened = notice('a');
  expect(nextOutgoing([opened, ...all], [], NOW)).toMatchObject({ ids: [opened.id, silent.id], text: over.text });
});

test('of what is only for information nothing rings; what its message has no room for is a reply all the same', () => {
  const [opened, changed] = [notice('unsure'), change('unsure')];
  const named = change('unsure', { kind: 'grown', manner: 'naming' });
  expect(nextOutgoing([opened], [], NOW)).toMatchObject({ isNote: true });
  expect(nextOutgoing([changed], [], NOW)).toMatchObject({ isSilent: true, isNote: true });
  expect(nextOutgoing([named], [], NOW)).toMatchObject({ isSilent: false, isNote: true });
});

test('200 incidents at once are told within the rate of Telegram, none of them dropped', () => {
  let queued = Array.from({ length: 200 }, (_, n) => notice(`tool:${n}`));
  let sentMs: number[] = [];
  let minutes = 0;
  const told: string[] = [];
  for (; queued.length > 0; minutes++) {
    const atMs = NOW + minutes * 60_000;
    for (let out = nextOutgoing(queued, sentMs, atMs); out; out = nextOutgoing(queued, sentMs, atMs)) {
      const { ids, incident } = out;
      told.push(incident);
      queued = queued.filter(({ id }) => !ids.includes(id));
      sentMs = recentOf([...sentMs, atMs], atMs);
    }
  }
  expect(new Set(told).size).toBe(200);
  expect(minutes).toBe(200 / SENDS_PER_MINUTE);
});

test('after many messages in an hour a change is seen in its message alone, and an opening still rings', () => {
  const hour = Array.from({ length: RINGS_PER_HOUR }, (_, n) => NOW - 3600_000 + 1 + n * 100_000);
  expect(nextOutgoing([change('a')], hour, NOW)).toMatchObject({ isSilent: true });
  expect(nextOutgoing([change('a')], hour, NOW + 1)).toMatchObject({ isSilent: false });
  expect(nextOutgoing([notice('a')], hour, NOW)).toMatchObject({ isSilent: false });
  expect(recentOf(hour, NOW + 1)).toHaveLength(RINGS_PER_HOUR - 1);
});
