import { expect, test } from '@jest/globals';
import { call } from '../../fixture/content-blocks.ts';
import { eachWithNotebook, notebook } from '../../fixture/each-notebook.ts';
import { mainCalls, moveToWorld, shown, start, world } from '../../fixture/each-test.ts';
import { jpegPhoto } from '../../fixture/files.ts';
import { callsTools, resultsIn, use } from '../../fixture/notebook.ts';
import { ask, expectWhole, givenExchanges, invalid, sendFile, sendPhoto } from '../../fixture/whole-chat.ts';
import type { ClaudeCall, Reaction } from '../../stand-in/claude/reaction.ts';
import { blocksOf } from '../../stand-in/claude/request.ts';

const WINDOW = 40_000;
const LARGE = Array.from({ length: 10 }, (_, at) => `large${at}`);
const SMALL = ['small1', 'small2'];
/** How a tool's result, a picture or a text is shown again. */
const REFERENCE = /"ref":\s*"([0-9a-f]{64})"/;

eachWithNotebook({ claude: { windowTokens: WINDOW } });

/** A tool's result as the model is shown it, as JSON without escapes; empty where a request has none of this id. */
const resultOf = (made: ClaudeCall | undefined, id: string): string => {
  const result = made && resultsIn(made).find(({ tool_use_id }) => tool_use_id === id);
  return JSON.stringify(result?.content ?? '').replaceAll('\\', '');
};
/** The model calls `recall`. */
const recalls = (input: object): Reaction => ({ do: 'answer', content: [call('again', { name: 'recall', input })] });
const picturesIn = ({ body }: ClaudeCall): number =>
  body.messages.flatMap(({ content }) => blocksOf(content)).filter(({ type }) => type === 'image').length;

test.each([
  ['as we count it', WINDOW],
  ['as only the endpoint counts it', 200_000],
])(
  'a batch of tool results larger than the window, %s: small ones are shown whole, large ones from both ends, and recall has the rest',
  async (_, statedWindowTokens) => {
    await moveToWorld({ claude: { windowTokens: WINDOW, statedWindowTokens }, env: notebook.env });
    await start();
    const session = await givenExchanges();
    const batch = [...SMALL.map((id) => use(id, 'look')), ...LARGE.map((id) => use(id, 'long', { words: 1_300 }))];
    world.claude.react(callsTools(batch));
    world.claude.react((made) => {
      const ref = REFERENCE.exec(resultOf(made, 'large0'))?.[1];
      return ref === undefined ? undefined : recalls({ ref, from: 15_500 });
    });
    expect(await ask('Read them all')).toMatchObject({ outcome: 'answered', session });
    const next = mainCalls().find((made) => made.status === 200 && /lorem/.test(resultOf(made, 'large0')));
    for (const id of SMALL) expect(resultOf(next, id)).toContain(`"look: ${id}"`);
    for (const id of LARGE)
      for (const part of [/"begin lorem/, /15[,.]?609 characters/, REFERENCE, /lorem ipsum end/])
        expect(resultOf(next, id)).toMatch(part);
    expect(resultOf(mainCalls().at(-1), 'again')).toMatch(/ipsum lorem ipsum end/);
    await expectWhole(session, 2);
  },
);

test('a text file larger than the window is read in part, said by its name; nothing is summarised before or after', async () => {
  await moveToWorld({ claude: { windowTokens: 100_000 }, env: { INBOUND_TEXT_MAX_CHARS: '500000' } });
  await start({ MODEL: 'claude-sonnet-4-6' });
  const session = await givenExchanges();
  const text = `The beginning. ${'lorem ipsum dolor '.repeat(24_000)}The end.`;
  expect(await sendFile('notes.txt', Buffer.from(text))).toMatchObject({ outcome: 'answered', session });
  expect(JSON.stringify(mainCalls().at(-1)?.body)).toMatch(/The beginning\..*characters.*The end\./);
  expect(shown()).toEqual([expect.stringMatching(/“notes\.txt”.*I read only \d+% of it/), expect.anything()]);
  await expectWhole(session, 2);
});

test('"Could not process image" without a place leaves out the newest picture alone, and recall shows it again', async () => {
  await start();
  const session = await givenExchanges();
  for (const nth of [1, 2, 3]) {
    if (nth === 3)
      world.claude.react((made) => (picturesIn(made) > 2 ? invalid('Could not process image') : undefined));
    expect(await sendPhoto(await jpegPhoto(40 + nth, 40), nth)).toMatchObject({ outcome: 'answered', session });
  }
  const answered = mainCalls().at(-1);
  expect(answered && picturesIn(answered)).toBe(2);
  const [, ref] = REFERENCE.exec(JSON.stringify(answered?.body.messages.at(-1)).replaceAll('\\', '')) ?? [];
  expect(ref).toBeDefined();
  expect(shown().at(-2)).toMatch(/left out a picture/);
  world.claude.react((made) =>
    made.pendingText === 'Show it' && resultsIn(made).length === 0 ? recalls({ ref }) : undefined,
  );
  expect(await ask('Show it', 4)).toMatchObject({ outcome: 'answered', session });
  expect(resultOf(mainCalls().at(-1), 'again')).toContain('"type":"image"');
  await expectWhole(session, 5);
});

test('two pages of tools that are refused in one message are both left out, and the message is answered', async () => {
  await start();
  const session = await givenExchanges();
  world.claude.guard.rejectsText = { pattern: /look: bad/, respond: 'invalidData' };
  world.claude.react(callsTools([use('t1', 'look', { text: 'bad one' })], [use('t2', 'look', { text: 'bad two' })]));
  expect(await ask('Look both up')).toMatchObject({ outcome: 'answered', session });
  expect(await notebook.notes()).toEqual(['look bad one', 'look bad two']);
  expect(shown().at(-1)).toBe('Done after 2 rounds.');
  await expectWhole(session, 2);
});
