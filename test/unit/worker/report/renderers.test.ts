import { expect, test } from '@jest/globals';
import { html } from 'hono/html';
import { textOf } from '../../../../worker/cli/text.ts';
import { reportHtml } from '../../../../worker/features/console/pages/report.ts';
import { phoneBlocks } from '../../../../worker/features/desk/phone.ts';
import { withEntities } from '../../../../worker/reply/format/entities.ts';
import type { Report } from '../../../../worker/report/report.ts';

const NOW_MS = Date.parse('2026-11-25T04:13:59Z');

/** Each part of the model with a word of its own, and markup in what others wrote. */
const REPORT: Report = {
  title: ['Title of ', { of: 'chat', id: '-100.7' }],
  nowMs: NOW_MS,
  verdict: { tone: 'bad', word: 'Red', reason: 'Reason.', more: ['More <b>.'] },
  sections: [
    {
      facts: [{ name: 'Tile', value: { of: 'dead', id: '', text: 3 }, note: ['since ', { atMs: NOW_MS - 5_000 }] }],
    },
    { title: 'Parts', facts: [{ name: 'Part', value: 'away', tone: 'bad' }] },
    {
      title: 'Table',
      intro: 'Intro',
      table: { columns: ['Column', 'Letter'], rows: [[{ of: 'message', id: '1-0' }, { letter: '1/5-0' }]] },
      more: { count: 2, noun: 'row' },
    },
    { title: 'Items', items: [{ title: 'Item', tone: 'fair', severity: 'Needs attention', lines: ['Line'] }] },
    { title: 'Steps', timeline: { fromMs: NOW_MS - 9_000, steps: [{ atMs: NOW_MS, kind: 'outcome', text: 'Ended' }] } },
    { title: 'Quote', quote: '<script>' },
    { title: 'Nothing', empty: 'None here.' },
  ],
  actions: [{ command: 'retry 1-0', act: { verb: 'replay', target: '5-0', label: 'Put back' } }],
};

const READING = { nowMs: NOW_MS, formKey: 'the-key', runbook: () => html`` };

test('all three renderings of a report have every word of it', async () => {
  const renderings = [
    textOf(REPORT),
    String(await reportHtml(REPORT, READING)),
    withEntities(phoneBlocks(REPORT)).text,
  ];
  const head = ['Title of ', '-100.7', 'Reason.', 'Tile', '5 s ago', 'Part', 'away', 'Intro', '1-0', '1/5-0'];
  const others = ['2 more rows', 'Needs attention', 'Item', 'Line', '+9 s', 'Ended', 'Quote', 'Nothing', 'None here.'];
  for (const word of [...head, ...others])
    expect([word, renderings.map((each) => each.includes(word))]).toEqual([word, [true, true, true]]);
});
