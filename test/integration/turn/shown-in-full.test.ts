import { expect, test } from '@jest/globals';
import { EN } from '../../../shared/texts/en.ts';
import { eachWithNotebook, notebook } from '../../fixture/each-notebook.ts';
import { CHAT, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { nextOutcome, untilSettled } from '../../fixture/ledger.ts';
import { callsTools, resultsIn, use } from '../../fixture/notebook.ts';
import { ASKING, outcomes, PATIENCE_MS, press, question } from '../../fixture/parked.ts';
import type { Upload } from '../../stand-in/telegram/params.ts';

eachWithNotebook(ASKING);

const BODY = `Dear Bob,\n${'all is well. '.repeat(500)}\nAnn`;
const LETTER = { body: BODY, to: 'bob@example.com', bcc: 'mallory@example.com\nto: nobody', note: 'a\u202eb\u3164' };
const isQuestion = ({ text }: { text?: unknown }) => String(text).startsWith('May I');

/** The model wants to write a letter that is longer than a message. */
function wantsLetter(): void {
  world.claude.react(callsTools([use('t1', 'write', LETTER)]));
  world.telegram.say(CHAT, 'Write to Bob');
}

/** The sends of a file that reached the chat. */
const files = () => world.telegram.calls.filter(({ method, messageId }) => method === 'sendDocument' && messageId);

test('a question shows each argument on a line of its own, short ones first, and the rest in a file above it', async () => {
  await start();
  // The question is tried again, and its file is not sent again.
  const busy = { status: 429, description: 'Too Many Requests', parameters: { retry_after: 1 } };
  world.telegram.fail('sendMessage', busy, 1, isQuestion);
  wantsLetter();
  const { text, messageId, entities = [] } = await question();
  const lines = text.split('\n');
  expect(lines.slice(0, 6)).toEqual([
    'May I do this?',
    '',
    'notebook: write',
    '▸ to: bob@example.com',
    '▸ note: a⟨U+202E⟩b⟨U+3164⟩',
    '▸ bcc: mallory@example.com⏎to: nobody',
  ]);
  expect(lines.slice(6)).toEqual([
    expect.stringMatching(/^▸ body: Dear Bob,⏎all is well.*… \([\d,]+ characters; the full text is in/),
  ]);
  expect(new Set(entities.map(({ type }) => type))).toEqual(new Set(['bold']));
  const [file, ...more] = files();
  expect(more).toEqual([]);
  expect(file?.messageId).toBeLessThan(messageId);
  expect(file?.params).toMatchObject({ caption: EN.approval.file, disable_notification: 'true' });
  const { name, bytes } = (file?.params.document ?? {}) as Upload;
  expect(name).toBe('arguments.txt');
  const inFile = bytes.toString();
  for (const line of BODY.split('\n')) expect(inFile).toContain(`\n    │ ${line}`);
  expect(inFile).toContain('▸ bcc:\n    │ mallory@example.com\n    │ to: nobody\n');
  await press('once');
  await untilSettled(world, 2, PATIENCE_MS);
  expect((await outcomes()).sort()).toEqual(['answered', 'command']);
});

test('a file of which Telegram never said that it stands there is sent again, before the question', async () => {
  await start();
  world.telegram.fail('sendDocument', { do: 'loseReply' });
  wantsLetter();
  const { messageId } = await question();
  const sent = files().map((file) => file.messageId ?? 0);
  expect(sent).toHaveLength(2);
  expect(Math.max(...sent)).toBeLessThan(messageId);
});

test('a chat that takes no file is not asked about what it cannot see', async () => {
  await start();
  const refused = { status: 400, description: 'Bad Request: not enough rights to send documents to the chat' };
  world.telegram.fail('sendDocument', refused, 10);
  wantsLetter();
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(shown()).toEqual(['Done after 1 rounds.']);
  const last = mainCalls().at(-1);
  expect(JSON.stringify(last && resultsIn(last))).toContain('could not be asked');
  expect(await notebook.notes()).toEqual([]);
});
