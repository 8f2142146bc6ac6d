import { FILTERS, type Kinds, type Option } from './arguments.ts';
import type { ReadReport } from './report.ts';

/** One report: how it is asked for, and how it is read. Every surface shows every report that names it. */
export interface ReportRule {
  args?: Kinds;
  options?: Readonly<Record<string, Option>>;
  /** For the lists of verbs. */
  summary: string;
  about: string;
  /** The exit codes; by default 0, or 2 for usage or configuration. */
  exits?: string;
  examples?: readonly string[];
  /** Where it is in the console, behind which its arguments stand. */
  page: string;
  /** Its name in the navigation of the console; absent where other pages lead to it. */
  link?: string;
  /** Typed in the chat of alerts, with a slash; the word behind it is its argument, or the value of this option. */
  typed?: { word: string; option?: string };
  /** A terminal shows what people wrote without being asked for it. */
  showsWords?: true;
  /** Loaded alone: what the others need would make up most of its time. */
  read: () => Promise<ReadReport>;
}

const KNOWN = '0 when it is known, 1 when it is not, 2 for usage or configuration';
const DAYS = { days: { as: 'N', min: 1, max: 90 } };
export const FILTERS_HELP =
  'Filters, all of which must hold: --chat <chat>, --reason <reason>, --since 90m|2h|3d|<ISO time>.';
export const LETTER_HELP = `An id is what "dead list" shows, 1700000000000-0, or 1/1700000000000-0 where there are several shards; or the entry of
the message, as alerts and the log have it.`;

/** All reports. A verb of the command line, a command of operators and a page of the console each name one of them. */
export const REPORTS = {
  status: {
    summary: 'the state of everything on one screen: green, yellow or red, and why',
    about: `The state of everything on one screen. The first line says green, yellow or red, and why; or starting, just after a
process was started. Red: somebody must act now; yellow: somebody should look today. Reads only.
--watch refreshes it every two seconds until Ctrl-C; with --json it prints one line each time.`,
    exits: '0 when green, yellow or starting, 1 when red or when Redis does not answer, 2 for usage or configuration',
    examples: ['status', 'status --json'],
    page: '',
    link: 'Status',
    typed: { word: 'status' },
    read: async () => (await import('./status.ts')).showStatus,
  },
  message: {
    args: ['message'],
    summary: 'the life of one message, where it is now, and what can be done',
    about: `The life of one message: where it is now and since when, what happened to it, and what can be done. An id is an entry
(1700000000000-0, or 1/1700000000000-0 where several shards have the same), a trace id (32 hexadecimal digits), or the id
of a dead letter, as alerts, the log and "dead list" have them. Shows no message text. The turn of a message is kept for
an hour after its outcome, the ledger for LEDGER_RETENTION_DAYS, 90 unless it is set.`,
    exits: KNOWN,
    examples: ['message 1700000000000-0', 'message 0af7651916cd43dd8448eb211c80319c --json'],
    page: 'message',
    typed: { word: 'message' },
    read: async () => (await import('./message.ts')).showMessage,
  },
  chat: {
    args: ['chat'],
    summary: "the state of one chat: lane, session, newest outcomes, today's cost",
    about: `The state of one chat: its lane, its session, what it spent today, its newest outcomes, dead letters, reminders, and
whether it is paused. Shows no message text.`,
    exits: KNOWN,
    examples: ['chat 123456789', 'chat -1001234567890.7'],
    page: 'chat',
    typed: { word: 'chat' },
    read: async () => (await import('./chat.ts')).showChat,
  },
  incidents: {
    options: { open: {} },
    summary: 'what is wrong or recently was: cause, since when, how many, what to do',
    about: `The incidents that are open, and those that ended within the hour (--open leaves these out): the cause, which is a heading
of the runbook, since when, how many messages and chats, the newest occurrence, and what to do.`,
    exits: '0 when none is open, 1 when one is, 2 for usage or configuration',
    examples: ['incidents', 'incidents --open --json'],
    page: 'incidents',
    link: 'Incidents',
    typed: { word: 'incidents' },
    read: async () => (await import('./incidents.ts')).showIncidents,
  },
  incident: {
    args: ['incident'],
    summary: 'one of them: how severe it is, its chats, and what can be done',
    about: 'One incident, by its name in "incidents": how severe it is, since when, its chats, and what can be done.',
    exits: KNOWN,
    examples: ['incident provider'],
    page: 'incident',
    read: async () => (await import('./incidents.ts')).showIncident,
  },
  actions: {
    options: { limit: { as: 'N', min: 1, max: 10_000 } },
    summary: 'who did what, when and why',
    about:
      'What operators did, the newest first: when, who, what, why. Each action is recorded before it is done; about 10,000 are kept.',
    examples: ['actions --limit 10'],
    page: 'actions',
    link: 'Actions',
    read: async () => (await import('./actions.ts')).showActions,
  },
  audit: {
    options: DAYS,
    summary: 'outcomes, the proof, context safety, latency, tokens, cost, top chats',
    about: `Adds up the last N days (7, at most 90) of the ledger and of the audit trail: outcomes, the proof that no message was
acknowledged without an outcome, what was done to requests that did not fit, latency, tokens and what they cost by purpose
(answers, summaries, and what was billed without an answer) and by model, and the chats that cost most.`,
    exits:
      '0, 1 when the proof fails or a message is called answered although Telegram did not confirm every part, 2 for usage',
    page: 'audit',
    link: 'Audit',
    typed: { word: 'audit', option: 'days' },
    read: async () => (await import('./audit-report.ts')).showAudit,
  },
  cost: {
    options: DAYS,
    summary: 'what the calls have cost, by purpose, model and chat',
    about: 'What the calls of the last N days (1, at most 90) have cost, and what is spent of the limits of all chats.',
    page: 'cost',
    link: 'Cost',
    typed: { word: 'cost', option: 'days' },
    read: async () => (await import('./audit-report.ts')).showCost,
  },
  recoveries: {
    summary: 'requests that did not fit or were refused, and what was done',
    about: 'The newest steps by which a request was made to fit, or to be accepted, the newest first.',
    page: 'recoveries',
    link: 'Recoveries',
    read: async () => (await import('./recoveries.ts')).showRecoveries,
  },
  'dead list': {
    options: { ...FILTERS, limit: { as: 'N', min: 1, max: 99_999 } },
    summary: 'messages that failed; by chat, reason and time',
    about: `Messages that failed are kept as dead letters: the newest first.\n${FILTERS_HELP}`,
    examples: ['dead list --reason authentication --since 2h'],
    page: 'dead',
    link: 'Dead letters',
    typed: { word: 'dead', option: 'chat' },
    read: async () => (await import('./letters.ts')).showLetters,
  },
  'dead show': {
    args: ['letter'],
    options: { content: {} },
    summary: 'one of them; its text with --content',
    about: LETTER_HELP,
    exits: KNOWN,
    page: 'letter',
    read: async () => (await import('./letters.ts')).showLetter,
  },
  'session show': {
    args: ['session'],
    summary: "what the chat's session is made of",
    about: 'The size of the session of a chat, and the beginnings of its newest records.',
    exits: '0, 1 when there is none, 2 for usage or configuration',
    page: 'session',
    showsWords: true,
    read: async () => (await import('./session.ts')).showSession,
  },
  allow: {
    summary: 'who is allowed besides TELEGRAM_ALLOWED_IDS, since when, by whom and why',
    about: '',
    page: 'allowed',
    link: 'Allowed',
    read: async () => (await import('./status.ts')).showAllowed,
  },
} as const satisfies Readonly<Record<string, ReportRule>>;

export type ReportName = keyof typeof REPORTS;

/** A report by its name. */
export function reportOf(name: ReportName): ReportRule {
  return REPORTS[name];
}
