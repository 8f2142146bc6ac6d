import { expect, test } from '@jest/globals';
import { call, text } from '../../fixture/content-blocks.ts';
import { eachInWorld, mainCalls, start, world } from '../../fixture/each-test.ts';
import { jpegPhoto, pdfOf } from '../../fixture/files.ts';
import { resultsIn } from '../../fixture/notebook.ts';
import { ask, sendFile, sendPhoto } from '../../fixture/whole-chat.ts';
import type { ClaudeCall } from '../../stand-in/claude/reaction.ts';
import { type Block, blocksOf, nestedBlocks } from '../../stand-in/claude/request.ts';

eachInWorld({ claude: { windowTokens: 60_000 }, env: { CONTEXT_WINDOW_TOKENS: '60000' } });

const blocksIn = ({ body }: ClaudeCall): Block[] => body.messages.flatMap(({ content }) => blocksOf(content));
const textsIn = (made: ClaudeCall): string =>
  blocksIn(made)
    .map((block) => String(block.text ?? ''))
    .join('\n');
const last = () => mainCalls().at(-1) as ClaudeCall;
const sourceIn = (made: ClaudeCall, type: string) => blocksIn(made).find((block) => block.type === type)?.source;

/** Asks for a file as the model does that has read its name in what it is shown. */
async function recalled(label: RegExp, nth: number): Promise<Block | undefined> {
  const ref = new RegExp(`${label.source}.*\\{"ref":"([0-9a-f]{64})"\\}`).exec(textsIn(last()))?.[1];
  expect(ref).toBeDefined();
  const id = `toolu_${nth}`;
  world.claude.react((made) =>
    made.pendingText.startsWith('Show') && resultsIn(made).length === 0
      ? { do: 'answer', content: [call(id, { name: 'recall', input: { ref } })] }
      : undefined,
  );
  expect(await ask('Show it again', nth)).toMatchObject({ outcome: 'answered' });
  return resultsIn(last()).find(({ tool_use_id }) => tool_use_id === id);
}

test('a picture and a PDF that left the window are shown again, until they expire', async () => {
  await start();
  expect(await sendPhoto(await jpegPhoto(300, 200), 1, 'my cat')).toMatchObject({ outcome: 'answered' });
  const sentPicture = sourceIn(last(), 'image');
  expect(await sendFile('plan.pdf', pdfOf(2), 2)).toMatchObject({ outcome: 'answered' });
  const sentPdf = sourceIn(last(), 'document');
  expect([sentPicture, sentPdf]).toMatchObject([{ media_type: 'image/jpeg' }, { media_type: 'application/pdf' }]);
  let nth = 3;
  for (; nth < 43 && sourceIn(last(), 'document') !== undefined; nth++)
    expect(await ask(`${nth} ${'so it went on '.repeat(400)}`, nth)).toMatchObject({ outcome: 'answered' });
  expect(sourceIn(last(), 'image')).toBeUndefined();
  expect(textsIn(last())).toMatch(/with "my cat": {"ref"/);

  const picture = await recalled(/image\/jpeg[^\n]*my cat/, nth++);
  expect(picture && nestedBlocks(picture)).toMatchObject([{ type: 'image', source: sentPicture }]);
  const plan = await recalled(/document plan\.pdf, 2 pages/, nth++);
  expect(plan && nestedBlocks(plan)).toMatchObject([{ type: 'document', source: sentPdf }]);

  expect(world.claude.violations()).toEqual([]);

  for (const key of await world.peek.keys('*'))
    if (/(?:blob|media):\d+:[0-9a-f]{64}$/.test(key)) await world.peek.del(key);
  const gone = await recalled(/image\/jpeg[^\n]*my cat/, nth++);
  expect(gone).toMatchObject({ is_error: true, content: [text('Nothing is kept under this reference (any more).')] });
});
