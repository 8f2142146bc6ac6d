import { expect, test } from '@jest/globals';
import { type Cause, isAlertText } from '../../../../shared/flow/alert.ts';
import type { EntryId } from '../../../../shared/redis/keys.ts';
import type { NotedActs } from '../../../../worker/alerts/act.ts';
import { nextOutgoing } from '../../../../worker/alerts/alerter.ts';
import { enter } from '../../../../worker/alerts/book.ts';
import { CAUSES } from '../../../../worker/alerts/causes.ts';
import { ended, type Incident, seen } from '../../../../worker/alerts/incident.ts';
import { pageOf, type Surroundings, troublePage, updateText } from '../../../../worker/alerts/notice-text.ts';
import { bodiesOf } from '../../../../worker/alerts/webhook-body.ts';
import { ALERTS_EN, type AlertWords } from '../../../../worker/alerts/words/en.ts';
import { ALERT_WORDS } from '../../../../worker/alerts/words/words.ts';
import { ALERTS_ZH_HANT } from '../../../../worker/alerts/words/zh-hant.ts';
import { deskWords } from '../../../../worker/desk/words.ts';
import { condition, failure, START } from '../../../fixture/incidents.ts';

const ZH: Surroundings = { words: ALERTS_ZH_HANT, installation: '台北' };
const CHINESE = /\p{Script=Han}/u;
const LEVELS = ['', ...Object.keys(ALERTS_EN.levels.provider)];

/** Each text of a table by its path, with what a function makes of example arguments. */
function textsOf(table: object, path = ''): [path: string, text: string][] {
  return Object.entries(table).flatMap(([name, value]): [string, string][] => {
    const at = `${path}/${name}`;
    if (typeof value === 'string') return [[at, value]];
    return typeof value === 'function' ? [[at, JSON.stringify(exampleOf(at, value))]] : textsOf(value as object, at);
  });
}

/** The keys of what it looks up are in no argument of another kind. */
function exampleOf(at: string, text: (...args: unknown[]) => unknown): unknown {
  if (at === '/stillFails') return text('network');
  return /\/(?:retried|cancelled)$/.test(at) ? text('1007', 'gone') : text(2, '3', 'x', 4);
}

test.each([
  ['alerts', ALERTS_EN, ALERTS_ZH_HANT],
  ['the desk', deskWords({ ALERT_LANGUAGE: 'en' }), deskWords({ ALERT_LANGUAGE: 'zh-Hant' })],
])('%s have every text in Chinese, none of which is empty or English', (_, english, chinese) => {
  const said = textsOf(english).filter(([path, text]) => text !== '' && !/\/(?:colon|stop|done)$/.test(path));
  const translated = new Map(textsOf(chinese));
  expect(said.length).toBeGreaterThan(25);
  expect(said.filter(([path]) => !CHINESE.test(translated.get(path) ?? ''))).toEqual([]);
  expect(textsOf(english).filter(([path, text]) => (text === '') !== (translated.get(path) === ''))).toEqual([]);
  // Half-width marks beside Chinese, and simplified characters that slip in.
  expect(
    [...translated.values()].filter((text) =>
      /\p{Script=Han}[,;:!?(]|[这个请处复执录说读发还关时题应过进们对会样现实设]/u.test(text),
    ),
  ).toEqual([]);
});

test('every cause has a title, and every cause except a fact has a text for its end', () => {
  const causes = Object.keys(CAUSES) as Cause[];
  for (const { title, over } of Object.values(ALERT_WORDS)) {
    expect(causes.filter((cause) => title[cause] === '')).toEqual([]);
    expect(causes.filter((cause) => over[cause] === '')).toEqual(
      causes.filter((cause) => CAUSES[cause].endsBy === 'fact'),
    );
  }
});

test('both languages say to do the same: they name the same settings, commands and buttons', () => {
  const named = ({ todo, levels, acts }: AlertWords) =>
    [...Object.entries(todo), ...Object.entries(levels.provider).map(([level, words]) => [level, words.todo])].map(
      ([of, text = '']) => [
        of,
        [...text.matchAll(/[A-Z][A-Z\d_]{4,}|"npm[^"]*"|(?<![a-z])\/[a-z]+/g)].flat().sort(),
        [...text.matchAll(/[“「]([^”」]*)[”」]/g)].map(([, label]) =>
          Object.keys(acts).filter((name) => acts[name as keyof typeof acts] === label),
        ),
      ],
    );
  expect(named(ALERTS_ZH_HANT)).toEqual(named(ALERTS_EN));
  expect(named(ALERTS_EN)).toContainEqual(['failed', ['"npm run cli -- dead replay <id>"', '/dead'], [['replay']]]);
});

/** An incident of a cause, of twelve messages of three chats. */
function incidentOf(cause: Cause, part: Partial<Incident> = {}): Incident {
  const text = 'It fails. Chat 1007. Trace 4bf92f3577b34da6a3ce929d0e0e4736';
  const { level = '' } = part;
  return { ...seen(undefined, condition({ cause, text, level, messages: 12, chats: 3 }), START), ...part };
}

const EVERY = (Object.keys(CAUSES) as Cause[]).flatMap((cause) => LEVELS.map((level) => [cause, level] as const));

test.each(Object.entries(ALERT_WORDS))('in %s each alert and each later word about one is known as one', (_, words) => {
  const unknown = EVERY.flatMap(([cause, level]) => {
    const open = incidentOf(cause, { level });
    // What an alert ends by its own words, it ends so.
    const over = ended(open, START + 32_000, CAUSES[cause].endsBy === 'alert' ? 'Resolved: it works again.' : '');
    const changes = (['changed', 'lasts', 'grown'] as const).map((kind) => updateText(open, kind, words));
    const pages = [open, over].map((each) => pageOf(each, { words }).text);
    const all = [...changes, ...pages, updateText(over, 'resolved', words)];
    expect(pages[1]?.startsWith(words.resolved)).toBe(true);
    return all.filter((text) => !isAlertText(text));
  });
  expect(unknown).toEqual([]);
  expect(isAlertText(troublePage({ title: 'x', text: 'y', section: 'z' }, { words }).text)).toBe(true);
});

test('what only resembles a Chinese alert is none', () => {
  const others = [
    '狀況改變：晚點再說。',
    '已解決：現在可以了。',
    '緊急：快來',
    '持續 12 秒（failed）。',
    '仍未解決：門',
  ];
  expect(others.filter(isAlertText)).toEqual([]);
});

test.each([
  [
    'failed',
    {},
    [
      '🟠 今日處理：有訊息處理失敗',
      '台北：自 2027-01-15 08:00:00 UTC 起：3 個聊天室的 12 則訊息。',
      'It fails. Chat 1007. Trace 4bf92f3577b34da6a3ce929d0e0e4736',
      '',
      expect.stringMatching(/^這些訊息都保留著：\/dead 會列出來，按「重送失敗訊息」會重新處理/),
    ],
  ],
  [
    'provider',
    { level: 'auth', latest: 'It does not accept our key.' },
    [
      '🔴 緊急：每則訊息都失敗：API 金鑰遭拒',
      '台北：自 2027-01-15 08:00:00 UTC 起：3 個聊天室的 12 則訊息。',
      'It does not accept our key.',
      '',
      '請更正 ANTHROPIC_API_KEY 並重新啟動；再按「重送失敗訊息」，或執行 "npm run cli -- dead replay --all --since 2h"。',
    ],
  ],
  [
    'no-poll',
    { reopenings: 2, endedMs: START - 60_000, messages: 0, chats: 0 },
    [
      '🔴 緊急：沒有行程在向 Telegram 取訊息',
      '台北：自 2027-01-15 08:00:00 UTC 起。',
      expect.stringMatching(/4736\. 再度發生：自 2027-01-15 07:59:00 UTC 起第 2 次。$/),
      '',
      '請檢查 producer，以及它到 TELEGRAM_API_ROOT 的連線。',
    ],
  ],
] as const)('the message about %s in Chinese frames what happened, which stays English', (cause, part, lines) => {
  expect(pageOf(incidentOf(cause, part), ZH).text.split('\n')).toEqual(lines);
});

test('later words in Chinese are understood without the message', () => {
  const incident = incidentOf('provider', { level: 'network', latest: 'It cannot be reached.' });
  const since = '自 2027-01-15 08:00:00 UTC 起：3 個聊天室的 12 則訊息。';
  const todo = '請檢查 ANTHROPIC_BASE_URL、網路與代理伺服器。這段期間訊息會等著。';
  const said = (['changed', 'lasts', 'grown'] as const).map((kind) => updateText(incident, kind, ALERTS_ZH_HANT));
  expect(said).toEqual([
    `狀況改變：It cannot be reached. ${since}${todo}`,
    `仍未解決：It cannot be reached. ${since}${todo}`,
    `持續增加：連不上模型端點。${since}最新：It cannot be reached.`,
  ]);
});

test('an end in Chinese begins with 已解決, whatever ended it', () => {
  const over = (cause: Cause, words = '', part: Partial<Incident> = {}) =>
    updateText(ended(incidentOf(cause, part), START + 32_000, words), 'resolved', ALERTS_ZH_HANT);
  const lasted = '持續 32 秒：3 個聊天室的 12 則訊息';
  expect(over('no-poll')).toBe(`已解決：已恢復向 Telegram 取訊息。${lasted}（no-poll）。`);
  const up = 'Resolved: the MCP server "notes" is up again.';
  expect(over('tool-server', up, { key: 'notes' })).toBe(
    `已解決：工具伺服器恢復運作。${lasted}（tool-server:notes）。`,
  );
  const close = { n: 1, by: 'Ann', id: 1, atMs: START, entry: '1-1' as EntryId, result: '已結案' };
  expect(over('torn-session', '', { acts: { close } })).toBe(`已解決：由 Ann 結案。${lasted}（torn-session）。`);
});

test('what was done about it, its buttons and its links are Chinese', () => {
  const noted = { n: 1, by: '小安', id: 1, atMs: START, entry: '1-1' as EntryId };
  const acts: NotedActs = {
    take: { ...noted, result: '小安 處理中' },
    snooze: { ...noted, untilMs: START + 3_600_000, result: 'x' },
    replay: { ...noted, result: '已重送 12／12 則' },
    retry: noted,
  };
  const around = { ...ZH, hasOperators: true, runbook: 'https://docs/runbook.md', console: 'https://gate' };
  const { text, buttons = [], links } = pageOf(incidentOf('failed', { acts }), around);
  expect(text).toContain(
    '小安 處理中 · 自 08:00 UTC 起\n小安 已設為靜音，到 09:00 UTC 為止\n已重送 12／12 則 · 小安，08:00 UTC\n進行中：立即重試 · 小安，08:00 UTC',
  );
  expect(buttons.flat().map((button) => button.text)).toEqual([
    '重送失敗訊息',
    '我來處理',
    '靜音 1 小時',
    '靜音到早上',
  ]);
  expect(links.map((link) => link.text)).toEqual(['處理手冊', '主控台']);
});

test('a long list in Chinese says how many more there are, and what is late says of when it is', () => {
  const unnamed = Array.from({ length: 50 }, (_, n) => `${n} ${'x'.repeat(100)}`);
  expect(pageOf(incidentOf('torn-session', { unnamed, unnamedMore: 7 }), ZH).text).toMatch(
    /\n……還有 \d+ 筆，都在記錄檔裡$/,
  );
  const { notices } = enter(new Map(), { alerts: [failure(1)], nowMs: START }, ZH);
  const queued = notices.map((notice) => ({ ...notice, id: `${START}-0` }));
  expect(nextOutgoing(queued, [], START + 600_000, ALERTS_ZH_HANT)?.text).toMatch(
    /\n延遲送達：這是 2027-01-15 08:00:00 UTC 的狀況。$/,
  );
});

test('the log has each notice in English, also where its words are Chinese', () => {
  const first = enter(new Map(), { alerts: [failure(1)], nowMs: START }, ZH);
  expect(first.notices).toMatchObject([
    { text: expect.stringMatching(/有訊息處理失敗/), logged: expect.stringMatching(/^🟠 Today: Messages failed\n/) },
  ]);
  const { notices } = enter(first.book, { alerts: [], nowMs: START + 3_600_000 }, ZH);
  expect(notices).toMatchObject([
    { update: expect.stringMatching(/^已解決：/), logged: expect.stringMatching(/^Resolved: no more messages fail/) },
  ]);
  const english = enter(new Map(), { alerts: [failure(1)], nowMs: START }, {});
  expect(english.notices[0]).not.toHaveProperty('logged');
});

test('a receiver of Alertmanager’s form finds the runbook and the trace by what they are', () => {
  const facts = { what: 'It fails.', openedMs: START, messages: 1, chats: 1 };
  const links = [
    { text: '追蹤', url: 'https://trace' },
    { text: '處理手冊', url: 'https://runbook' },
  ];
  const handover = { ...facts, incident: 'failed', key: 'k', severity: 'today', isOver: false, isNew: true } as const;
  const place = { format: 'alertmanager', key: undefined, installation: 'x' } as const;
  expect(bodiesOf(place, { ...handover, text: '有', words: '有', links })).toMatchObject([
    { externalURL: 'https://runbook', alerts: [{ generatorURL: 'https://trace' }] },
  ]);
});
