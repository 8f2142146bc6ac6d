import { expect, test } from '@jest/globals';
import { nextOutgoing, type QueuedNotice, recentOf, SINGLES_PER_MINUTE } from '../../../../worker/alerts/alerter.ts';

const NOW = 1_800_000_000_000;
const MINUTE_MS = 60_000;

function notices(count: number, from = 0): QueuedNotice[] {
  return Array.from({ length: count }, (_, n) => ({
    id: `${from + n}-0`,
    incident: `tool:${from + n}`,
    kind: 'opened',
    text: `The tool number ${from + n} is refused.\nA second line.`,
  }));
}

/** What an operator gets, when a notice comes every `everyMs` and all that may be sent is sent. */
function sendAll(count: number, everyMs: number) {
  const messages: string[] = [];
  let queued: QueuedNotice[] = [];
  let sentMs: number[] = [];
  let made = 0;
  for (let at = 0; at < 10 * MINUTE_MS; at += 100) {
    const due = Math.min(count, Math.floor(at / everyMs) + 1);
    queued = [...queued, ...notices(due - made, made)];
    made = due;
    const outgoing = nextOutgoing(queued, sentMs, NOW + at);
    if (outgoing === undefined) continue;
    messages.push(outgoing.text);
    queued = queued.filter(({ id }) => !outgoing.ids.includes(id));
    sentMs = recentOf([...sentMs, NOW + at], NOW + at);
  }
  return { messages, left: queued.length };
}

test('sends nothing for an empty queue, and a few notices one by one, oldest first', () => {
  expect(nextOutgoing([], [], NOW)).toBeUndefined();
  const few = notices(SINGLES_PER_MINUTE);
  expect(nextOutgoing(few, [], NOW)).toEqual({ ids: ['0-0'], text: few[0]?.text });
});

test('200 incidents in a minute become single alerts and one digest that counts all the others', () => {
  const { messages, left } = sendAll(200, 300);
  expect(left).toBe(0);
  expect(messages.filter((text) => text.startsWith('Digest'))).toEqual([
    expect.stringMatching(
      /^Digest of 195 alerts about 195 incidents: 195 opened\. The log has each in full\.\n- The tool/,
    ),
  ]);
  expect(messages).toHaveLength(SINGLES_PER_MINUTE + 1);
});

test('200 alerts at once become one digest, which says how many it does not show', () => {
  const outgoing = nextOutgoing(notices(200), [], NOW);
  expect(outgoing?.ids).toHaveLength(200);
  expect(outgoing?.text.length).toBeLessThanOrEqual(4_000);
  const shown = outgoing?.text.split('\n').filter((line) => line.startsWith('- ')).length ?? 0;
  expect(shown).toBeGreaterThan(50);
  expect(outgoing?.text).toMatch(new RegExp(`… and ${200 - shown} more$`));
});

test('a digest counts alerts by kind, and each incident once', () => {
  const mixed = notices(6).map((notice, at) => ({
    ...notice,
    incident: 'failed',
    kind: at < 2 ? 'opened' : 'resolved',
  }));
  const outgoing = nextOutgoing(mixed as QueuedNotice[], [], NOW);
  expect(outgoing?.text).toMatch(/^Digest of 6 alerts about 1 incidents: 2 opened, 4 resolved\./);
});

test('holds a notice after 30 messages in an hour, and sends it when the hour has passed', () => {
  const hour = Array.from({ length: 30 }, (_, n) => NOW - 3600_000 + 1 + n * 100_000);
  expect(nextOutgoing(notices(1), hour, NOW)).toBeUndefined();
  expect(nextOutgoing(notices(1), hour, NOW + 1)).toMatchObject({ ids: ['0-0'] });
  expect(recentOf(hour, NOW + 1)).toHaveLength(29);
});
