import { expect, test } from '@jest/globals';
import { enter } from '../../../../worker/alerts/book.ts';
import { incidentOf, QUIET_MS } from '../../../../worker/alerts/incident.ts';
import { type Delivered, nextSending, SENDS_PER_MINUTE } from '../../../../worker/alerts/next-sending.ts';
import { condition, failure, opened, START } from '../../../fixture/incidents.ts';

test('200 incidents at once are sent within the rate of Telegram, none of them dropped, pages first', () => {
  const causes = ['ledger', 'model-gone'] as const;
  let book = enter(new Map(), { alerts: [], nowMs: START }).book;
  for (let n = 0; n < 200; n++) {
    const alert = { cause: causes[n % 2] ?? 'ledger', key: `${n}`, text: `${n}` };
    const alone = enter(new Map(), { alerts: [alert], nowMs: START + n }).book;
    book = new Map([...book, ...alone]);
  }
  const delivered = new Map<string, Delivered>();
  const sent: string[] = [];
  let minutes = 0;
  for (; sent.length < 200; minutes++) {
    const nowMs = START + 1_000 + minutes * 60_000;
    const sentMs: number[] = [];
    const next = () => nextSending(book, delivered, { nowMs, sentMs, settleMs: 0 }, {});
    for (let sending = next(); sending !== undefined; sending = next()) {
      const name = incidentOf(sending.incident);
      sent.push(name);
      sentMs.push(nowMs);
      delivered.set(name, { ...sending.after, messageId: 1 });
    }
  }
  expect(new Set(sent).size).toBe(200);
  expect(minutes).toBe(200 / SENDS_PER_MINUTE);
  expect(sent.slice(0, 100).every((name) => name.startsWith('ledger'))).toBe(true);
});

const pace = (more: object = {}) => ({ nowMs: START + 30_000, sentMs: [] as number[], settleMs: 0, ...more });

test('an incident that has ended before the chat took anything of it is one message, which rings', () => {
  const { book } = enter(new Map(), { alerts: [], conditions: [condition()], nowMs: START });
  const over = enter(book, { alerts: [], conditions: [], nowMs: START + 1_000 }).book;
  const sending = nextSending(over, new Map(), pace(), {});
  expect(sending).toMatchObject({ isSilent: false, message: { text: expect.stringMatching(/^Resolved: /) } });
  expect(sending?.reply).toBeUndefined();
});

test('nothing is sent while nothing differs, and edits never use up the rate that a page needs', () => {
  const before = enter(new Map(), { alerts: [failure(1)], nowMs: START }).book;
  const first = nextSending(before, new Map(), pace(), {});
  const delivered = new Map([['failed', { ...first?.after, messageId: 1, sentMs: START } as Delivered]]);
  expect(nextSending(before, delivered, pace(), {})).toBeUndefined();
  expect(nextSending(new Map(), new Map(), pace(), {})).toBeUndefined();
  const changed = enter(before, { alerts: [failure(2)], nowMs: START + 20_000 }).book;
  const sent = (count: number) => pace({ sentMs: Array(count).fill(START + 29_000) });
  expect(nextSending(changed, delivered, sent(8), {})).toBeUndefined();
  expect(nextSending(changed, delivered, sent(7), {})).toMatchObject({ isSilent: true });
  const { book } = enter(changed, { alerts: [], conditions: [condition()], nowMs: START + 20_000 });
  expect(nextSending(book, delivered, sent(8), {})).toMatchObject({ incident: { cause: 'no-poll' }, isSilent: false });
});

test('a look at the alerts alone opens the incident of the watch, and neither changes nor ends it', () => {
  const incidents = opened();
  const of = (what: string) => ({ what, error: new TypeError('…') });
  incidents.at(0, { failures: [of('alerts of shard 0')] });
  incidents.at(10_000, { conditions: [], failures: [of('idle'), of('alerts of shard 0')] });
  for (let at = 20_000; at < 60_000; at += 10_000) {
    incidents.at(at, { failures: [of('alerts of shard 0')] });
    incidents.at(at + 1, { conditions: [], failures: [of('idle'), of('alerts of shard 0')] });
  }
  expect(incidents.all).toHaveLength(2);
  expect(incidents.rings()).toHaveLength(1);
});

test('a clock that steps back by an hour neither silences an open incident nor keeps it open for that long', () => {
  const incidents = opened();
  const refused = condition({ cause: 'provider', level: 'auth' });
  incidents.at(3600_000, { alerts: [failure(1)], conditions: [{ ...refused, level: 'overloaded' }] });
  incidents.at(0, { alerts: [failure(2)], conditions: [refused] });
  incidents.at(61_000, { conditions: [refused] });
  expect(incidents.all.map(({ incident }) => incident)).toEqual(['provider', 'provider']);
  incidents.at(62_000 + QUIET_MS, { conditions: [] });
  expect([...incidents.book().values()].map(({ isOpen }) => isOpen)).toEqual([false, false]);
});
