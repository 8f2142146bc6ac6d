import type { Block, Inline } from '../../../shared/flow/reply.ts';
import type { Button } from '../../../shared/telegram/messages.ts';
import { type CommandContext, type CommandHandler, laidOut, replied } from '../../command/command.ts';
import type { Feature } from '../../feature.ts';
import type { ReportContext } from '../../report/report.ts';
import { plainLine } from '../memory/memory.ts';
import { dismissQuestion, oldButton, pauseChat, pressButton, resumeChat } from './act.ts';
import { help } from './help.ts';
import { REPORT_HANDLERS } from './looks.ts';

/** A command of an operator in the operators' chat. */
export interface DeskCall {
  /** The words after the command. */
  words: readonly string[];
  /** The operator's first name; without a name, the id. */
  by: string;
  /** The operator's id. Several people may have the same first name. */
  id: number;
  context: CommandContext;
  /** The source of reports and actions. */
  source: ReportContext;
}

/** The reply to an operator. */
export type DeskReply = {
  buttons?: readonly (readonly Button[])[];
  /** Whether to remove the buttons of the message whose button was pressed. */
  isAnswered?: true;
} & ({ text: string | readonly Inline[] } | { blocks: readonly Block[] });

/** Handles one command. Contract: rejects when Redis cannot be reached; may run again from the start after a crash. */
export type DeskHandler = (call: DeskCall) => DeskReply | Promise<DeskReply>;

const HANDLERS: Readonly<Record<string, DeskHandler>> = {
  ...REPORT_HANDLERS,
  help,
  act: pressButton,
  back: dismissQuestion,
  do: oldButton,
  pause: pauseChat,
  resume: resumeChat,
};

/** Answers commands and button presses in the operators' chat. Contract: as `DeskHandler`. */
const desk: CommandHandler = async (context) => {
  const { message } = context.turn;
  const { redis, settings } = context.turn.env;
  const [word = '', ...words] = context.argument.split(' ');
  const { id = 0, name = '' } = message.ok ? message.value.from : {};
  // Buttons of other versions may send unknown words, so any unknown word shows the help.
  const handle = (Object.hasOwn(HANDLERS, word) && HANDLERS[word]) || help;
  const source = { redis, settings, shards: settings.SHARDS };
  const reply = await handle({ words, by: plainLine(name) || `${id}`, id, context, source });
  const { buttons, isAnswered } = reply;
  const extras = { ...(buttons && { buttons }), ...(!isAnswered && { keepsButtons: true as const }) };
  return 'blocks' in reply ? laidOut('desk', reply.blocks, extras) : replied('desk', reply.text, extras);
};

/** The operators' chat, where operators press buttons under alerts and type commands. */
export const deskFeature: Feature = { name: 'desk', commands: { desk } };
