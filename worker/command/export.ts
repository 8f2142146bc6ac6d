import { thousands } from '../../shared/base/text.ts';
import { timeZoneOf } from '../lane/turn-settings.ts';
import { withId, withoutCode } from '../session/header-code.ts';
import { type LogRecord, textOf } from '../session/record.ts';
import { exportLine } from '../session/transfer.ts';
import { type CommandHandler, replied } from './command.ts';
import { inMinutes } from './words.ts';

/** Bot API, `sendDocument`: 50 MB. The process holds the whole file in memory during the send. */
const FILE_BYTES_MAX = 45_000_000;

/** `/export`: sends the chat's messages as a text for people, with the features' data, and as lines for `session import`. */
export const exportChat: CommandHandler = async ({ turn }) => {
  const { chatArchive, settings, features } = turn.env;
  const { session, texts, currentChat } = turn;
  const timeZone = timeZoneOf(turn, settings);
  const lines: string[] = [];
  const readable: string[] = [];
  let bytes = 0;
  for await (const record of chatArchive.messages(session)) {
    const line = exportLine(record) ?? '';
    bytes += Buffer.byteLength(line);
    if (bytes > FILE_BYTES_MAX) return replied('export', texts.exportTooLarge);
    lines.push(line);
    readable.push(...paragraphOf(record, timeZone));
  }
  for (const feature of features) {
    const featureLines = (await feature.linesToExport?.(turn)) ?? [];
    if (featureLines.length > 0) readable.push('---\n', ...featureLines);
  }
  if (readable.length === 0) return replied('export', texts.nothingToExport);
  const keep = (text: string) => chatArchive.keepForSending(currentChat, Buffer.from(text));
  const files = [
    { path: 'file', name: 'chat.md', sha256: await keep(readable.join('\n')) },
    { path: 'file', name: 'chat.jsonl', sha256: await keep(`${lines.join('\n')}\n`) },
  ] as const;
  const reply = replied('export', texts.exported(thousands(lines.length)));
  return {
    ...reply,
    conclusion: {
      ...reply.conclusion,
      parts: [...reply.conclusion.parts, texts.exportedReadable, 'chat.jsonl'],
      layout: [null, ...files],
    },
  };
};

/** A message as a paragraph of Markdown; empty for a record without text, such as the result of a tool. */
function paragraphOf(record: LogRecord, timeZone: string): string[] {
  if (record.t !== 'user' && record.t !== 'assistant') return [];
  const text = textOf(withoutCode(record).content).trim();
  if (text === '') return [];
  const who = record.t === 'assistant' ? 'Spillway' : withId(record.from ?? 'You', record);
  // Quote each line, so that no text can pass for another person's message.
  return [`**${who}**, ${inMinutes(Date.parse(record.at), timeZone)}\n`, `${text.replace(/^/gm, '> ')}\n`];
}
