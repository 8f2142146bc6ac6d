import { expect, test } from '@jest/globals';
import { call, text } from '../../fixture/content-blocks.ts';
import { CHAT, eachInWorld, mainCalls, start, world } from '../../fixture/each-test.ts';
import { jpegPhoto, pdfOf } from '../../fixture/files.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { resultsIn } from '../../fixture/notebook.ts';
import type { ClaudeCall } from '../../stand-in/claude/reaction.ts';
import { type Block, blocksOf, nestedBlocks } from '../../stand-in/claude/request.ts';

eachInWorld({ claude: { windowTokens: 60_000 }, env: { CONTEXT_WINDOW_TOKENS: '60000' } });

let said = 0;

async function say(words: string, extra: Record<string, unknown> = {}): Promise<void> {
  world.telegram.say(CHAT, 'photo' in extra || 'document' in extra ? '' : words, { extra });
  said += 1;
  expect(await nextOutcome(world, CHAT, said)).toMatchObject({ outcome: 'answered' });
}

const blocksIn = ({ body }: ClaudeCall): Block[] => body.messages.flatMap(({ content }) => blocksOf(content));
const textsIn = (made: ClaudeCall | undefined): string =>
  made === undefined
    ? ''
    : blocksIn(made)
        .map((block) => String(block.text ?? ''))
        .join('\n');
const sourceIn = (made: ClaudeCall | undefined, type: string) =>
  made && blocksIn(made).find((block) => block.type === type)?.source;
const last = () => mainCalls().at(-1);

/** Asks for a file as the model does that has read its name in what it is shown. */
async function recalled(label: RegExp): Promise<Block | undefined> {
  const ref = new RegExp(`${label.source}.*\\{"ref":"([0-9a-f]{64})"\\}`).exec(textsIn(last()))?.[1];
  expect(ref).toBeDefined();
  const id = `toolu_${said}`;
  world.claude.react((made) =>
    made.pendingText.startsWith('Show') && resultsIn(made).length === 0
      ? { do: 'answer', content: [call(id, { name: 'recall', input: { ref } })] }
      : undefined,
  );
  await say('Show it again');
  const made = last();
  return made && resultsIn(made).find(({ tool_use_id }) => tool_use_id === id);
}

test('a picture and a PDF that left the window are shown again, until they expire', async () => {
  said = 0;
  await start();
  const photo = world.telegram.addFile(await jpegPhoto(300, 200), 'photos/cat.jpg');
  await say('', { photo: [{ file_id: photo, file_unique_id: photo, width: 300, height: 200 }], caption: 'my cat' });
  const sentPicture = sourceIn(last(), 'image');
  const pdf = world.telegram.addFile(pdfOf(2), 'documents/plan.pdf');
  await say('', { document: { file_id: pdf, file_unique_id: pdf, file_name: 'plan.pdf' }, caption: 'the plan' });
  const sentPdf = sourceIn(last(), 'document');
  expect([sentPicture, sentPdf]).toMatchObject([{ media_type: 'image/jpeg' }, { media_type: 'application/pdf' }]);
  for (let at = 0; at < 40 && sourceIn(last(), 'document') !== undefined; at++)
    await say(`${at} ${'so it went on '.repeat(400)}`);
  expect(sourceIn(last(), 'image')).toBeUndefined();
  expect(textsIn(last())).toMatch(/with "my cat": {"ref"/);

  const picture = await recalled(/image\/jpeg[^\n]*my cat/);
  expect(picture && nestedBlocks(picture)).toMatchObject([{ type: 'image', source: sentPicture }]);
  const plan = await recalled(/document plan\.pdf, 2 pages/);
  expect(plan && nestedBlocks(plan)).toMatchObject([{ type: 'document', source: sentPdf }]);

  expect(world.claude.violations()).toEqual([]);

  for (const key of await world.peek.keys('*'))
    if (/(?:blob|media):\d+:[0-9a-f]{64}$/.test(key)) await world.peek.del(key);
  const gone = await recalled(/image\/jpeg[^\n]*my cat/);
  expect(gone).toMatchObject({ is_error: true, content: [text('Nothing is kept under this reference (any more).')] });
});
