import { clip } from '../../shared/base/text.ts';
import { type ChatKey, type EntryId, type LaneKey, parseChatKey } from '../../shared/redis/keys.ts';
import { serverTimeMs } from '../../shared/state/process/process.ts';
import { totalsOf } from '../../shared/state/spending/limit.ts';
import { statusOf } from '../command/status.ts';
import { loadPrices } from '../model/prices.ts';
import { type Block, paragraph, plain } from '../reply/format/tree.ts';
import { type Audit, auditReport, costReport, readAudit } from '../report/audit-report.ts';
import { chatReport, readChat } from '../report/chat.ts';
import { incidentsReport, readIncidents } from '../report/incidents.ts';
import { lettersReport, readLetters } from '../report/letters.ts';
import { messageReport, readMessage } from '../report/message.ts';
import { findMessages } from '../report/message-location.ts';
import type { Item, Report } from '../report/report.ts';
import { readStatus, type Status, statusReport } from '../report/status.ts';
import type { DeskHandler, DeskPorts, DeskReply } from './desk.ts';
import { isConversation } from './help.ts';
import { offersOf, rowsFor } from './offers.ts';
import { onPhone } from './phone.ts';

const LETTERS_SHOWN = 10;
const CHATS_OFFERED = 8;
const TYPED_CHARS = 40;
const NAMES_CHARS = 300;

/** `/status`: the state of the installation, and of the conversation where the chat has one. */
export const status: DeskHandler = async (ports, call) => {
  const { entry, lane } = call.context.attempt;
  const shown = replyWith(inShort(statusReport(without(await readStatus(ports, ports.config), entry, lane))));
  if (!(await isConversation(ports, call))) return shown;
  const own = await statusOf(call.chatPorts, call.context);
  const title = { type: 'bold', inlines: [plain('This conversation')] } as const;
  return { ...shown, blocks: [...shown.blocks, paragraph(title, plain(`\n${own}`))] };
};

/** The state as it would be had nobody asked for it. */
function without(status: Status, own: EntryId, ownLane: LaneKey): Status {
  const { ledger, jobs, lanes, running, oldest } = status;
  const less = (count: number) => Math.max(0, count - 1);
  const { oldest: _, ...rest } = status;
  return {
    ...(oldest?.entry === own ? rest : status),
    ledger: { ...ledger, pending: less(ledger.pending) },
    jobs: { ...jobs, active: less(jobs.active) },
    lanes: { ...lanes, count: less(lanes.count), deepest: lanes.deepest.filter(({ lane }) => lane !== ownLane) },
    running: running.filter(({ entry }) => entry !== own),
  };
}

/** Without all that `/incidents` says about each. */
function inShort({ sections, ...report }: Report): Report {
  const short = (item: Item): Item => ({ ...item, lines: item.lines.slice(0, 1) });
  return {
    ...report,
    sections: sections.map(({ items, ...rest }) => ({ ...rest, ...(items && { items: items.map(short) }) })),
  };
}

/** `/incidents`: those that are open, and that ended within the hour. */
export const incidents: DeskHandler = async (ports) =>
  replyWith(incidentsReport(await readIncidents(ports), await serverTimeMs(ports.redis)));

/** `/message <id>`: the life of one message. */
export const message: DeskHandler = async (ports, { words: [id = ''] }) => {
  if (id === '') return { text: MESSAGE_WANTED };
  const [name, ...others] = await findMessages(ports, id);
  if (name !== undefined && others.length > 0) {
    const all = [name, ...others].map(({ shard, entry }) => `${shard}/${entry}`);
    const buttons = rowsFor(all.map((each) => `/message ${each}`));
    return { text: `There are ${all.length} messages ${id}. Which one? ${clip(all.join(', '), NAMES_CHARS)}`, buttons };
  }
  const report = name && (await readMessage(ports, name));
  if (report === undefined) return { text: `Nothing is kept of a message ${typed(id)}. ${MESSAGE_WANTED}` };
  return replyWith(messageReport(report, await serverTimeMs(ports.redis)));
};

/** `/chat <id>`: the state of one chat, or of a topic. */
export const chat: DeskHandler = async (ports, call) => {
  const key = chatIn(call.words);
  if (key === undefined) return chatWanted(ports, call, 'chat');
  const report = await readChat(ports, key);
  return report === undefined ? unknownChat(key) : replyWith(chatReport(report, await serverTimeMs(ports.redis)));
};

/** `/dead [chat]`: the newest messages that failed. */
export const dead: DeskHandler = async (ports, call) => {
  const key = chatIn(call.words);
  if (key === undefined && call.words.length > 0) return chatWanted(ports, call, 'dead');
  const read = await readLetters(ports, key === undefined ? {} : { chat: key }, LETTERS_SHOWN);
  const shown = replyWith(lettersReport(read, await serverTimeMs(ports.redis)));
  return read.total === 0 ? shown : { ...shown, blocks: [...shown.blocks, paragraph(plain(PUT_BACK))] };
};

/** How to send again what failed. */
const PUT_BACK =
  '“Replay failed” under the alert puts back what failed; so does /retry in the chat itself, for its newest message.';

/** `/audit [days]`: what became of the messages of some days, and the proof that none was lost. */
export const audit: DeskHandler = (ports, { words }) => overDays(ports, words, 'audit', 7, auditReport);

/** `/cost [days]`: what the calls of some days have cost. */
export const cost: DeskHandler = (ports, { words }) => overDays(ports, words, 'cost', 1, costReport);

const DAYS_MAX = 90;

async function overDays(
  ports: DeskPorts,
  [word]: readonly string[],
  verb: string,
  usual: number,
  reportOf: (audit: Audit) => Report,
): Promise<DeskReply> {
  const days = word === undefined ? usual : /^\d{1,2}$/.test(word) ? Number(word) : 0;
  if (days < 1 || days > DAYS_MAX) return { text: `The days are a number from 1 to ${DAYS_MAX}, such as /${verb} 7.` };
  const { config } = ports;
  const prices = await loadPrices(config.MODEL_PRICES_FILE).catch((error: Error) => error);
  if (prices instanceof Error) return { text: `The file of prices cannot be used: ${clip(prices.message, 300)}` };
  return replyWith(reportOf(await readAudit(ports, { days, prices, totals: totalsOf(config) })));
}

/** A report as a reply, with buttons for what can be done and looked at from there. */
function replyWith(report: Report): { blocks: Block[]; buttons: NonNullable<DeskReply['buttons']> } {
  return { blocks: onPhone(report), buttons: offersOf(report) };
}

/** The chat that the first word names. */
export function chatIn([word = '']: readonly string[]): ChatKey | undefined {
  return parseChatKey(word)?.chat;
}

/** The reply where a chat has to be named; it offers those of the open incidents, unless `meant` names others. */
export const chatWanted = async (
  ports: DeskPorts,
  call: Parameters<DeskHandler>[1],
  verb: 'chat' | 'dead' | 'pause' | 'resume',
  meant?: readonly string[],
): Promise<DeskReply> => {
  const [word = ''] = call.words;
  const wrong = word === '' ? '' : `${typed(word)} is not the number of a chat. `;
  const all = { pause: ' /pause all stops every chat.', resume: ' /resume all ends that of every chat.' };
  const more = verb === 'pause' || verb === 'resume' ? all[verb] : '';
  const offered = (meant ?? (await chatsInTrouble(ports))).map((each) => `/${verb} ${each}`);
  return {
    text: `${wrong}Name a chat by its number, as alerts have it, such as /${verb} 1001 or, for a topic, /${verb} -1001.7.${more}`,
    buttons: rowsFor(offered),
  };
};

async function chatsInTrouble(ports: DeskPorts): Promise<string[]> {
  const open = (await readIncidents(ports)).filter(({ isOpen }) => isOpen);
  return [...new Set(open.flatMap(({ chatNames }) => chatNames))].slice(0, CHATS_OFFERED);
}

/** The reply about a chat that nobody has heard of. */
export function unknownChat(chat: ChatKey): DeskReply {
  return { text: `Nothing is known of a chat ${chat}. /status and /incidents name those that are in trouble.` };
}

const MESSAGE_WANTED =
  'Name a message by its entry, such as /message 1700000000000-0, by its trace of 32 digits and letters, or by the id of its dead letter.';

function typed(word: string): string {
  return `“${clip(word, TYPED_CHARS)}”`;
}
