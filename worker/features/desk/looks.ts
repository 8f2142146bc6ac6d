import { clip } from '../../../shared/base/text.ts';
import { paragraph, plain } from '../../../shared/flow/reply.ts';
import { type ChatKey, parseChatKey } from '../../../shared/redis/keys.ts';
import { statusOf } from '../../command/status.ts';
import { ARGUMENTS, optionProblem, wordsProblem } from '../../report/arguments.ts';
import { readIncidents } from '../../report/incidents.ts';
import { type ReportSource, UnknownName, UnusableSetting } from '../../report/report.ts';
import { REPORTS, type ReportRule } from '../../report/reports.ts';
import type { DeskCall, DeskHandler, DeskReply } from './feature.ts';
import { isConversation } from './help.ts';
import { commandsFor, reportButtons, rowsFor } from './offers.ts';
import { inlinesOfText, phoneBlocks } from './phone.ts';

const CHATS_MAX = 8;
const WORD_CHARS_MAX = 40;

/** Handlers of the commands that show reports, by command. */
export const REPORT_HANDLERS: Readonly<Record<string, DeskHandler>> = {
  ...Object.fromEntries(
    Object.values<ReportRule>(REPORTS).flatMap((rule) =>
      rule.chatCommand ? [[rule.chatCommand.word, handlerOf(rule)]] : [],
    ),
  ),
  status: withConversation(handlerOf(REPORTS.status)),
};

/** The handler that shows a report, with buttons for its actions and for the reports that it links to. */
function handlerOf({ args = [], options = {}, chatCommand, read }: ReportRule): DeskHandler {
  return async (call) => {
    const [word] = call.words;
    const option = chatCommand?.option;
    const words = option === undefined ? call.words.slice(0, 1) : [];
    const isOption = option !== undefined && word !== undefined;
    const values = isOption ? { [option]: word } : {};
    const problem = isOption ? optionProblem(option, word, options[option]) : wordsProblem(args, words);
    if (problem !== undefined && (args[0] ?? option) === 'chat') return askForChat(call, chatCommand?.word ?? '');
    if (problem !== undefined) return { text: problem || `Name ${ARGUMENTS.message.expected}.` };
    const { entry, lane } = call.context.turn;
    try {
      const { report } = await (await read())(call.source, { words, options: values, caller: { entry, lane } });
      return { blocks: phoneBlocks(report), buttons: reportButtons(report) };
    } catch (error) {
      if (error instanceof UnknownName)
        return { text: inlinesOfText(error.message), buttons: rowsFor(error.choices.flatMap(commandsFor)) };
      if (error instanceof UnusableSetting) return { text: inlinesOfText(error.message) };
      throw error;
    }
  };
}

/** Adds the state of the conversation to the report if the bot also answers messages in this chat. */
function withConversation(handler: DeskHandler): DeskHandler {
  return async (call) => {
    const reply = await handler(call);
    if (!('blocks' in reply) || !(await isConversation(call))) return reply;
    const conversationStatus = await statusOf(call.context);
    const title = { type: 'bold', inlines: [plain('This conversation')] } as const;
    return { ...reply, blocks: [...reply.blocks, paragraph(title, plain(`\n${conversationStatus}`))] };
  };
}

/** The chat in the first word; undefined if the first word names no chat. */
export function chatIn([word = '']: readonly string[]): ChatKey | undefined {
  return parseChatKey(word)?.chat;
}

/** The reply that asks for a chat. Offers buttons for `chats`, by default the chats of open incidents. */
export async function askForChat(
  { source, words: [word = ''] }: DeskCall,
  verb: string,
  chats?: readonly string[],
): Promise<DeskReply> {
  const problemText = word === '' ? '' : `“${clip(word, WORD_CHARS_MAX)}” is not the number of a chat. `;
  const hints: Record<string, string> = {
    pause: ' /pause all pauses every chat.',
    resume: ' /resume all ends the pause of every chat.',
  };
  const commands = (chats ?? (await chatsInTrouble(source))).map((each) => `/${verb} ${each}`);
  return {
    text: `${problemText}Add the number of a chat, as in alerts, for example /${verb} 1001 or, for a topic, /${verb} -1001.7.${hints[verb] ?? ''}`,
    buttons: rowsFor(commands),
  };
}

async function chatsInTrouble(source: ReportSource): Promise<string[]> {
  const open = (await readIncidents(source)).filter(({ isOpen }) => isOpen);
  return [...new Set(open.flatMap(({ chatNames }) => chatNames))].slice(0, CHATS_MAX);
}
