import type { MessageEntity } from '@grammyjs/types';
import { clip, toolLabel, visible, visibleInLine } from '../../shared/base/text.ts';
import { type ParkedQuestion, toolsShown } from '../../shared/state/turn/parking.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Button, OutboundFile, SendOptions } from '../../shared/telegram/messages.ts';
import type { Texts } from '../../shared/texts/language.ts';
import type { AskedCall, Asking } from '../tools/asking.ts';

/** The message of a question, with buttons. A file with all arguments comes first if the message cannot show them in full. */
interface ShownQuestion {
  file?: OutboundFile;
  text: string;
  options: SendOptions;
}

/** The maximum length of all calls together. Bot API, `sendMessage`: 4,096; the rest is for the title and the notes. */
const CALLS_CHARS_MAX = 3_600;
/** The maximum for one call. A question has at most five calls, so at most 80 bold names; Telegram allows 100 entities. */
const ARGUMENTS_MAX = 15;
/** How many characters of a value the message shows if the full value is in the file. */
const BEGINNING_CHARS = 160;
const NAME_CHARS_MAX = 64;
/** Begins the line of an argument. */
const MARK = '▸';
/** Begins each line of a value in the file, so that no value can look like an argument. */
const VALUE_MARK = '    │ ';

/** Builds the messages of a question. Pure. */
export function questionIn({ entry, texts, message }: Turn, asking: Asking, parked: ParkedQuestion): ShownQuestion {
  const press = (word: string) => `/decide ${entry} ${asking.id} ${word}`;
  const replyTo = message.ok ? message.value.messageId : undefined;
  if (asking.kind === 'question')
    return { text: asking.question, options: { replyTo, buttons: choiceButtons(texts, asking, press) } };
  const { text, entities, isWhole } = approvalText(texts, asking.calls);
  return {
    ...(!isWhole && { file: argumentsFile(texts, asking.calls) }),
    text,
    options: { entities, replyTo, buttons: approvalButtons(texts, parked, press) },
  };
}

/** If there are several calls, each tool has an "Always" button, which names the tool and decides only that tool's calls. */
function approvalButtons(
  { approval }: Texts,
  parked: ParkedQuestion,
  press: (word: string) => string,
): readonly (readonly Button[])[] {
  const once = { text: approval.once, command: press('once') };
  const decline: Button = { text: approval.decline, command: press('no'), destroys: true };
  const grants = grantButtons(approval, parked, press);
  const isOne = parked.calls.length === 1;
  return isOne ? [[once, ...grants], [decline]] : [[once], ...grants.map((grant) => [grant]), [decline]];
}

function grantButtons(
  { always, alwaysTool }: Texts['approval'],
  { calls }: ParkedQuestion,
  press: (word: string) => string,
) {
  const tools = toolsShown({ calls });
  return tools.flatMap((tool, at): Button[] => {
    const open = calls.find((call) => call.tool === tool && call.how === undefined && call.definition !== undefined);
    if (open === undefined) return [];
    const text = calls.length === 1 ? always : alwaysTool(toolLabel(tool));
    return [{ text, command: press(tools.length === 1 ? 'always' : `always${at}`) }];
  });
}

function choiceButtons(
  { approval }: Texts,
  { choices }: Extract<Asking, { kind: 'question' }>,
  press: (word: string) => string,
): readonly (readonly Button[])[] {
  const rows = choices.map((text, at) => [{ text, command: press(String(at)) }]);
  return [...rows, [{ text: approval.skip, command: press('no') }]];
}

/** A piece of the message's text. Names are bold; values never are. */
type Piece = string | { bold: string };

/** The text of the calls, with as many arguments as one message can show. `isWhole`: the text shows all arguments in full. */
function approvalText(texts: Texts, calls: readonly AskedCall[]) {
  const parts = calls.map((call) => callPieces(texts, call, Math.floor(CALLS_CHARS_MAX / calls.length)));
  const entities: MessageEntity[] = [];
  let text = texts.approval.title(calls.length);
  for (const piece of parts.flatMap(({ pieces }) => pieces)) {
    const words = typeof piece === 'string' ? piece : piece.bold;
    if (typeof piece !== 'string') entities.push({ type: 'bold', offset: text.length, length: words.length });
    text += words;
  }
  return { text, entities, isWhole: parts.every(({ isWhole }) => isWhole) };
}

function callPieces({ approval }: Texts, { name, input }: AskedCall, charsMax: number) {
  const label = toolLabel(name);
  const pieces: Piece[] = ['\n\n', { bold: label }];
  let budget = charsMax - label.length - 2;
  let isWhole = true;
  let omitted = 0;
  for (const [at, whole] of argumentsOf(input).entries()) {
    const isLong = whole.name.length > NAME_CHARS_MAX || lengthOf(whole) > budget;
    const line = isLong ? beginningOf(approval, whole) : whole;
    if (isLong) isWhole = false;
    if (at < ARGUMENTS_MAX && lengthOf(line) <= budget) {
      pieces.push(`\n${MARK} `, { bold: line.name }, `: ${line.value}`);
      budget -= lengthOf(line);
    } else omitted += 1;
  }
  if (omitted > 0) pieces.push(`\n${approval.moreInFile(omitted)}`);
  return { pieces, isWhole: isWhole && omitted === 0 };
}

/** An argument of a call, on one line, with invisible characters replaced by their codes. */
interface Argument {
  name: string;
  value: string;
}

/** The arguments of a call, the shortest first. */
function argumentsOf(input: AskedCall['input']): Argument[] {
  const all = Object.entries(input).map(([name, value]) => ({
    name: visibleInLine(name),
    value: visibleInLine(typeof value === 'string' ? value : JSON.stringify(value)),
  }));
  return all.sort((a, b) => lengthOf(a) - lengthOf(b));
}

function beginningOf({ inFile }: Texts['approval'], { name, value }: Argument): Argument {
  const beginning = clip(value, BEGINNING_CHARS);
  return { name: clip(name, NAME_CHARS_MAX), value: `${beginning} ${inFile(value.length)}` };
}

/** The length of an argument's line, including `MARK` and the separators. */
function lengthOf({ name, value }: Argument): number {
  return name.length + value.length + MARK.length + 4;
}

/** A text file with all arguments of the calls in full, line breaks included. */
function argumentsFile({ approval }: Texts, calls: readonly AskedCall[]): OutboundFile {
  const text = calls.map(({ name, input }) =>
    [toolLabel(name), ...Object.entries(input).map(inFullLength)].join('\n\n'),
  );
  return { name: 'arguments.txt', bytes: Buffer.from(`${text.join('\n\n\n')}\n`), caption: approval.file };
}

function inFullLength([name, value]: [string, unknown]): string {
  const lines = visible(typeof value === 'string' ? value : JSON.stringify(value, null, 2)).split('\n');
  return [`${MARK} ${visibleInLine(name)}:`, ...lines.map((line) => `${VALUE_MARK}${line}`)].join('\n');
}
