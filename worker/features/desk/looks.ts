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
import { onPhone, worded } from './phone.ts';

const CHATS_MAX = 8;
const WORD_CHARS_MAX = 40;

/** The handlers of the commands that show a report, by command. */
export const LOOKS: Readonly<Record<string, DeskHandler>> = {
  ...Object.fromEntries(
    Object.values<ReportRule>(REPORTS).flatMap((rule) =>
      rule.chatCommand ? [[rule.chatCommand.word, look(rule)]] : [],
    ),
  ),
  status: withConversation(look(REPORTS.status)),
};

/** Shows a report, with buttons for its acts and for the reports that it names. */
function look({ args = [], options = {}, chatCommand, read }: ReportRule): DeskHandler {
  return async (call) => {
    const [word] = call.words;
    const option = chatCommand?.option;
    const words = option === undefined ? call.words.slice(0, 1) : [];
    const isOption = option !== undefined && word !== undefined;
    const given = isOption ? { [option]: word } : {};
    const problem = isOption ? optionProblem(option, word, options[option]) : wordsProblem(args, words);
    if (problem !== undefined && (args[0] ?? option) === 'chat') return chatWanted(call, chatCommand?.word ?? '');
    if (problem !== undefined) return { text: problem || `Name ${ARGUMENTS.message.expected}.` };
    const { entry, lane } = call.context.turn;
    try {
      const { report } = await (await read())(call.source, { words, options: given, caller: { entry, lane } });
      return { blocks: onPhone(report), buttons: reportButtons(report) };
    } catch (error) {
      if (error instanceof UnknownName)
        return { text: worded(error.message), buttons: rowsFor(error.choices.flatMap(commandsFor)) };
      if (error instanceof UnusableSetting) return { text: worded(error.message) };
      throw error;
    }
  };
}

/** Adds the state of the conversation where the chat is one. */
function withConversation(handler: DeskHandler): DeskHandler {
  return async (call) => {
    const reply = await handler(call);
    if (!('blocks' in reply) || !(await isConversation(call))) return reply;
    const own = await statusOf(call.context);
    const title = { type: 'bold', inlines: [plain('This conversation')] } as const;
    return { ...reply, blocks: [...reply.blocks, paragraph(title, plain(`\n${own}`))] };
  };
}

/** The chat that the first word names. */
export function chatIn([word = '']: readonly string[]): ChatKey | undefined {
  return parseChatKey(word)?.chat;
}

/** The reply when a chat must be named. It offers `chats`, by default those of the open incidents. */
export async function chatWanted(
  { source, words: [word = ''] }: DeskCall,
  verb: string,
  chats?: readonly string[],
): Promise<DeskReply> {
  const wrong = word === '' ? '' : `“${clip(word, WORD_CHARS_MAX)}” is not the number of a chat. `;
  const all: Record<string, string> = {
    pause: ' /pause all stops every chat.',
    resume: ' /resume all ends that of every chat.',
  };
  const commands = (chats ?? (await chatsInTrouble(source))).map((each) => `/${verb} ${each}`);
  return {
    text: `${wrong}Name a chat by its number, as alerts have it, such as /${verb} 1001 or, for a topic, /${verb} -1001.7.${all[verb] ?? ''}`,
    buttons: rowsFor(commands),
  };
}

async function chatsInTrouble(source: ReportSource): Promise<string[]> {
  const open = (await readIncidents(source)).filter(({ isOpen }) => isOpen);
  return [...new Set(open.flatMap(({ chatNames }) => chatNames))].slice(0, CHATS_MAX);
}
