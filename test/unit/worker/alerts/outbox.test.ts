import { expect, test } from '@jest/globals';
import { enter } from '../../../../worker/alerts/book.ts';
import { incidentOf } from '../../../../worker/alerts/incident.ts';
import { type Delivered, nextSending, SENDS_PER_MINUTE } from '../../../../worker/alerts/next-sending.ts';
import { condition, failure, START } from '../../../fixture/incidents.ts';

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

test('an incident that has ended before the chat took anything of it is one message, which rings', () => {
  const { book } = enter(new Map(), { alerts: [], conditions: [condition()], nowMs: START });
  const over = enter(book, { alerts: [], conditions: [], nowMs: START + 1_000 }).book;
  const sending = nextSending(over, new Map(), { nowMs: START + 2_000, sentMs: [], settleMs: 0 }, {});
  expect(sending).toMatchObject({ isSilent: false, message: { text: expect.stringMatching(/^Resolved: /) } });
  expect(sending?.reply).toBeUndefined();
});

test('edits never use up the rate that a page needs', () => {
  const opened = enter(new Map(), { alerts: [failure(1)], nowMs: START }).book;
  const pace = { nowMs: START + 30_000, sentMs: Array(8).fill(START + 29_000), settleMs: 0 };
  const first = nextSending(opened, new Map(), { ...pace, sentMs: [] }, {});
  const delivered = new Map([['failed', { ...first?.after, messageId: 1, sentMs: START } as Delivered]]);
  const changed = enter(opened, { alerts: [failure(2)], nowMs: START + 20_000 }).book;
  expect(nextSending(changed, delivered, pace, {})).toBeUndefined();
  expect(nextSending(changed, delivered, { ...pace, sentMs: pace.sentMs.slice(1) }, {})).toMatchObject({
    isSilent: true,
  });
  const { book } = enter(changed, { alerts: [], conditions: [condition()], nowMs: START + 20_000 });
  expect(nextSending(book, delivered, pace, {})).toMatchObject({ incident: { cause: 'no-poll' }, isSilent: false });
});

test('sends nothing while nothing differs', () => {
  const { book } = enter(new Map(), { alerts: [failure(1)], nowMs: START });
  const pace = { nowMs: START + 60_000, sentMs: [], settleMs: 0 };
  const first = nextSending(book, new Map(), pace, {});
  if (first === undefined) throw new Error('nothing was to be sent');
  expect(nextSending(book, new Map([['failed', { ...first.after, messageId: 1 }]]), pace, {})).toBeUndefined();
  expect(nextSending(new Map(), new Map(), pace, {})).toBeUndefined();
});
