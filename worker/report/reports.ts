import { FILTERS, type Kinds, type Option } from './arguments.ts';
import type { ReadReport } from './report.ts';

/** One report: its arguments, its help, its place on each surface, and its reader. */
export interface ReportRule {
  /** Kinds of arguments; `?` marks an optional argument. */
  args?: Kinds;
  options?: Readonly<Record<string, Option>>;
  /** A line for the list of verbs and the beginning of the help. */
  summary: string;
  /** The help after `summary`. */
  about?: string;
  /** The exit codes in words, besides 2 for wrong usage or configuration; default: only 0. */
  exits?: string;
  examples?: readonly string[];
  /** Path in the console; the arguments follow. */
  page: string;
  /** Name in the navigation of the console; absent for pages that only other pages link to. */
  link?: string;
  /** Command in the operators' chat. The word after the command is the report's argument, or the value of `option`. */
  chatCommand?: { word: string; option?: string };
  /** Whether a terminal shows users' text without `--content`. */
  showsContent?: true;
  /** Loads the reader on demand, because loading the modules of all reports would take most of a command's time. */
  read: () => Promise<ReadReport>;
}

const KNOWN = '0 when it is known, 1 when it is not';
const DAYS = { days: { as: 'N', min: 1, max: 90 } };
export const FILTERS_HELP =
  'Filters, all of which must hold: --chat <chat>, --reason <reason>, --since 90m|2h|3d|<ISO time>.';
export const LETTER_HELP = `An id is what "dead list" shows (1700000000000-0, or 1/1700000000000-0 where there are several shards), or the entry of
the message, as in alerts and the log.`;

/** All reports, for verbs of the command line, commands in the operators' chat, and pages of the console. */
export const REPORTS = {
  status: {
    summary: 'the state of everything on one screen: green, yellow or red, and why',
    about: `Red: somebody must act now; yellow: somebody should look today; starting: a process has just started. Changes nothing.
--watch refreshes it every two seconds until Ctrl-C; with --json it prints one line each time.`,
    exits: '0 when green, yellow or starting, 1 when red or when Redis does not answer',
    page: '',
    link: 'Status',
    chatCommand: { word: 'status' },
    read: async () => (await import('./status.ts')).showStatus,
  },
  message: {
    args: ['message'],
    summary: 'the life of one message, where it is now, and what can be done',
    about: `An id is an entry (1700000000000-0, or 1/1700000000000-0 where several shards have the same), a trace id (32 hexadecimal digits), or the id
of a dead letter, as in alerts, the log and "dead list". Shows no message text. The turn of a message is kept for
an hour after its outcome, the ledger for LEDGER_RETENTION_DAYS (90 by default).`,
    exits: KNOWN,
    page: 'message',
    chatCommand: { word: 'message' },
    read: async () => (await import('./message.ts')).showMessage,
  },
  chat: {
    args: ['chat'],
    summary: "the state of one chat: waiting messages, session, newest outcomes, today's cost",
    about: 'Shows no message text.',
    exits: KNOWN,
    examples: ['chat 123456789', 'chat -1001234567890.7'],
    page: 'chat',
    chatCommand: { word: 'chat' },
    read: async () => (await import('./chat.ts')).showChat,
  },
  incidents: {
    options: { open: {} },
    summary: 'what is wrong or recently was: cause, since when, how many, what to do',
    about: 'Also shows what ended in the last hour; --open leaves that out. The cause is a heading of the runbook.',
    exits: '0 when none is open, 1 when one is',
    page: 'incidents',
    link: 'Incidents',
    chatCommand: { word: 'incidents' },
    read: async () => (await import('./incidents.ts')).showIncidents,
  },
  incident: {
    args: ['incident'],
    summary: 'one incident: how severe it is, its chats, and what can be done',
    exits: KNOWN,
    page: 'incident',
    read: async () => (await import('./incidents.ts')).showIncident,
  },
  actions: {
    options: { limit: { as: 'N', min: 1, max: 10_000 } },
    summary: 'who did what, when and why',
    about: 'The newest first. Each action is recorded before it is done; about 10,000 are kept.',
    page: 'actions',
    link: 'Actions',
    read: async () => (await import('./operators.ts')).showActions,
  },
  audit: {
    options: DAYS,
    summary: 'outcomes, the proof, context safety, latency, tokens, cost, top chats',
    about: `Covers the last N days (default 7, at most 90). The proof is that no message was acknowledged without an outcome. What was billed
without an answer has the purpose "retry".`,
    exits: '0, 1 when the proof fails or a message counts as answered although Telegram did not confirm every part',
    page: 'audit',
    link: 'Audit',
    chatCommand: { word: 'audit', option: 'days' },
    read: async () => (await import('./audit-report.ts')).showAudit,
  },
  cost: {
    options: DAYS,
    summary: 'what the calls have cost, by purpose, model and chat',
    about: 'Covers the last N days (default 1, at most 90), with what is spent of the budgets for all chats.',
    page: 'cost',
    link: 'Cost',
    chatCommand: { word: 'cost', option: 'days' },
    read: async () => (await import('./audit-report.ts')).showCost,
  },
  recoveries: {
    summary: 'requests that did not fit or were refused, and what was done',
    page: 'recoveries',
    link: 'Recoveries',
    read: async () => (await import('./message-timeline.ts')).showRecoveries,
  },
  'dead list': {
    options: { ...FILTERS, limit: { as: 'N', min: 1, max: 99_999 } },
    summary: 'messages that failed; by chat, reason and time',
    about: FILTERS_HELP,
    examples: ['dead list --reason authentication --since 2h'],
    page: 'dead',
    link: 'Dead letters',
    chatCommand: { word: 'dead', option: 'chat' },
    read: async () => (await import('./letters.ts')).showLetters,
  },
  'dead show': {
    args: ['letter'],
    options: { content: {} },
    summary: 'one dead letter; its text with --content',
    about: LETTER_HELP,
    exits: KNOWN,
    page: 'letter',
    read: async () => (await import('./letters.ts')).showLetter,
  },
  'session show': {
    args: ['session'],
    summary: "what the chat's session is made of",
    exits: '0, 1 when there is none',
    page: 'session',
    showsContent: true,
    read: async () => (await import('./session.ts')).showSession,
  },
  allow: {
    summary: 'who is allowed besides TELEGRAM_ALLOWED_IDS, since when, by whom and why',
    page: 'allowed',
    link: 'Allowed',
    read: async () => (await import('./operators.ts')).showAllowed,
  },
} as const satisfies Readonly<Record<string, ReportRule>>;

export type ReportName = keyof typeof REPORTS;

export function reportOf(name: ReportName): ReportRule {
  return REPORTS[name];
}
