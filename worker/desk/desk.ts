import type { Config } from '../../shared/base/config.ts';
import { DESK_WORDS } from '../../shared/telegram/commands.ts';
import type { Button } from '../../shared/telegram/messages.ts';
import { type CommandContext, replied } from '../command/command.ts';
import type { Verdict } from '../lane/verdict.ts';
import type { Inline } from '../reply/format/tree.ts';
import type { ReportSource } from '../report/report.ts';
import { pauseChat, resumeChat } from './pausing.ts';
import { status } from './status.ts';

/** What the desk works with: the whole installation. */
export interface DeskPorts extends ReportSource {
  config: Config;
}

/** What an operator asked for. */
export interface DeskCall {
  /** The words behind the first one. */
  words: readonly string[];
  /** Who asked, for the trail and for the others: a first name, or the person's id. */
  by: string;
  context: CommandContext;
}

/** The reply to an operator. */
export interface DeskReply {
  text: string | readonly Inline[];
  buttons?: readonly (readonly Button[])[];
}

/**
 * Does one thing that operators may ask for. Contract: rejects when Redis cannot be reached; may be carried out again from
 * the start after any crash.
 */
export type DeskHandler = (ports: DeskPorts, call: DeskCall) => DeskReply | Promise<DeskReply>;

const HANDLERS: Readonly<Record<string, DeskHandler>> = { status, pause: pauseChat, resume: resumeChat };

const HELP = `Operators can ask here: ${DESK_WORDS.map((word) => `/${word}`).join(', ')}.`;

/** Carries out what operators do in the chat of alerts. Contract: as `DeskHandler`. */
export function createDesk(ports: DeskPorts): (context: CommandContext) => Promise<Verdict> {
  return async (context) => {
    const { message } = context.attempt;
    const [word = '', ...words] = context.words.split(' ');
    const { id = 0, name } = message.ok ? message.value.from : {};
    const handle = Object.hasOwn(HANDLERS, word) ? HANDLERS[word] : undefined;
    const reply = (await handle?.(ports, { words, by: name ?? `${id}`, context })) ?? { text: HELP };
    return replied('desk', reply.text, reply.buttons ? { buttons: reply.buttons } : {});
  };
}
