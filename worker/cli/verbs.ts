import { IS_BUILT } from '../../shared/base/project.ts';
import { FILTERS, type Option } from '../report/arguments.ts';
import { UnusableSetting } from '../report/report.ts';
import { FILTERS_HELP, LETTER_HELP, type ReportName, reportOf } from '../report/reports.ts';
import { type Terminal, UsageError } from './terminal.ts';
import { callOf, helpOf, show, synopsisOf, type Verb } from './verb.ts';

const FLAG: Option = {};

function reportVerb(name: ReportName): Verb {
  return { name, ...reportOf(name), load: async () => (call) => show(name, call) };
}

type ActVerb = 'cancel' | 'retry' | 'pause' | 'resume' | 'allow' | 'replay' | 'purge';
type SessionVerb = 'exportAll' | 'importAll' | 'reset' | 'forget';

const loadAct = (name: ActVerb) => async () => (await import('./act.ts'))[name];
const loadSessionVerb = (name: SessionVerb) => async () => (await import('./session.ts'))[name];

const REPORT_VERBS: readonly Verb[] = [
  { ...reportVerb('status'), options: { watch: FLAG, every: { as: 'SECONDS', min: 1, max: 3600 } } },
  ...(['message', 'chat', 'incidents', 'incident', 'actions', 'audit', 'cost', 'recoveries'] as const).map(reportVerb),
  {
    name: 'check',
    summary: 'checks the configuration and every connection, including tool servers',
    about: `Reports all that is wrong in one run, and what a running gateway recorded of its calls, polls and alerts.
Sends no message: it makes one call of the model of a few tokens, shows "typing" in the operator's chat, and sends a span and
a metric where OTEL_EXPORTER_OTLP_ENDPOINT is set. Starts nothing but the MCP servers that are programs, and a private Redis
that has data and is not running; it ends them again. Advice fails nothing.`,
    exits: '0 when all is well, 1 when something that was tried fails',
    load: async () => (await import('./check.ts')).check,
  },
];

const ACTION_VERBS: readonly Verb[] = [
  {
    name: 'cancel',
    args: ['target'],
    acts: true,
    summary: 'ends one message, or everything that a chat is waiting for, as /stop does',
    about: `Its user reads that it was stopped. An id is as for "message". In a paused chat it takes effect when that is resumed.`,
    exits: '0 when it is cancelled, also when it was before; 1 when there is nothing to cancel',
    examples: ['cancel 1700000000000-0 --why "hangs in a tool"', 'cancel -1001234567890'],
    load: loadAct('cancel'),
  },
  {
    name: 'retry',
    args: ['message'],
    acts: true,
    summary: 'tries a message again now: one that was put off, or one that failed',
    about: `One that failed comes back to the end of its chat's lane as a new entry. An id is as for "message".`,
    exits: '0 when it is tried again or under way, 1 when it cannot be',
    examples: ['retry 1700000000000-0 --why "the provider is back"'],
    load: loadAct('retry'),
  },
  {
    name: 'pause',
    args: ['chat?'],
    acts: true,
    summary: 'pauses a chat, or every chat; messages are accepted and wait',
    about: `Commands wait, too; what is being answered now ends as it would. Nothing is lost, and nobody is told. A topic is a chat of
its own.`,
    exits: '0 when it is paused, also when it was before',
    examples: ['pause 123456789 --why "asks in a loop"', 'pause --why "maintenance at the provider"'],
    load: loadAct('pause'),
  },
  {
    name: 'resume',
    args: ['chat?'],
    acts: true,
    summary: 'ends a pause',
    about: `Of a chat, or of every chat. What is waiting is answered in order. A chat that was paused by itself stays paused when every
chat is resumed.`,
    exits: '0 when it is resumed, 1 when it was not paused',
    load: loadAct('resume'),
  },
];

const ALLOW_VERB: Verb = {
  name: 'allow',
  args: ['someone?'],
  options: { remove: FLAG },
  acts: true,
  summary: 'lets a person or a group in without a restart, or with --remove out again; alone, lists them',
  about: `TELEGRAM_ALLOWED_IDS stays as it is: what is added is kept in Redis, with who did it and why. What somebody wrote before is
not answered. With PAIRING, strangers ask to be let in; the code of a request stands for the person who asks. --remove takes back what was added, and not what the setting says; what was accepted before is still answered
(see "cancel").`,
  exits: '0 when it is so now, 1 when --remove had nothing to take back',
  examples: ['allow 123456789 --why "Rita, support"', 'allow BCDFGH', 'allow --remove 123456789', 'allow'],
  load: loadAct('allow'),
};

const LETTER_VERBS: readonly Verb[] = [
  ...(['dead list', 'dead show'] as const).map(reportVerb),
  {
    name: 'dead replay',
    args: ['letter?'],
    options: { ...FILTERS, all: FLAG },
    acts: true,
    summary: "puts one, or with --all many, back at the end of its chat's lane",
    about: `An answer that was finished and could not be delivered is delivered, without asking the model. ${LETTER_HELP}
${FILTERS_HELP}`,
    exits: '0, 1 when it is not there or names no chat',
    examples: ['dead replay --all --chat 123456789'],
    load: loadAct('replay'),
  },
  {
    name: 'dead purge',
    args: ['letter?'],
    options: { ...FILTERS, before: { as: 'DAYS', min: 1, max: 99_999 }, all: FLAG, yes: FLAG },
    acts: true,
    summary: 'removes one, or many, for good',
    about: `--before removes those that failed more than DAYS ago, --all --yes every one. ${LETTER_HELP}
${FILTERS_HELP}`,
    exits: '0, 1 when it is not there',
    load: loadAct('purge'),
  },
];

const SESSION_VERBS: readonly Verb[] = [
  reportVerb('session show'),
  {
    name: 'session export',
    args: ['chat'],
    summary: 'writes the session as JSON lines to standard output',
    about: 'Writes the lines that "session import" reads, with more fields.',
    exits: '0, 1 when there is none',
    load: loadSessionVerb('exportAll'),
  },
  {
    name: 'session import',
    args: ['chat', 'file?'],
    acts: true,
    summary: "reads JSON lines (a file, or standard input) as the chat's new session",
    about: `Reads JSON lines, {"role":"user"|"assistant","content": text or Messages API blocks, "at"?: ISO time}, and binds the chat
to them as a new session. A bad line is named by its number, and then nothing is imported.`,
    exits: '0, 1 when a line is bad',
    load: loadSessionVerb('importAll'),
  },
  {
    name: 'session reset',
    args: ['chat'],
    acts: true,
    summary: 'starts an empty session; the old one is kept',
    about: 'As /new does. A message that is being answered now ends in the old session.',
    exits: '0, 1 when there is none',
    load: loadSessionVerb('reset'),
  },
  {
    name: 'session forget',
    args: ['chat'],
    options: { yes: FLAG },
    acts: true,
    summary: 'erases all of the chat for good: conversations, files, failed messages',
    about:
      'As /forget does: reminders, memory and choices as well. Asks first in a terminal; elsewhere it needs --yes.',
    exits: '0, 1 while messages of the chat are waiting',
    load: loadSessionVerb('forget'),
  },
];

/** All verbs, in the order of the help. */
export const VERBS: readonly Verb[] = [...REPORT_VERBS, ...ACTION_VERBS, ALLOW_VERB, ...LETTER_VERBS, ...SESSION_VERBS];

const HELP = [
  'Usage: npm run cli -- <verb> [options]',
  VERBS.map((verb) => `  ${synopsisOf(verb).padEnd(30)}  ${verb.summary}`).join('\n'),
  `A chat is its numeric id, with .<topic> where it has topics. Each verb takes --help, and --json for machines.
Exit codes: 0 done, 1 failed, red or not found, 2 configuration or usage.`,
].join('\n\n');

/** Runs the verb that the arguments name, and returns the exit code. Writes errors to the terminal, and never throws. */
export async function runVerb(args: string[], terminal: Terminal): Promise<number> {
  try {
    return await run(args, terminal);
  } catch (error) {
    terminal.note(error instanceof Error ? error.message : String(error));
    return error instanceof UsageError || error instanceof UnusableSetting ? 2 : 1;
  }
}

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const [first, second] = args;
  const isHelp = ['--help', '-h', 'help'].includes(first ?? '');
  if (first === undefined || isHelp) {
    terminal.line(HELP);
    return isHelp ? 0 : 2;
  }
  const verb = VERBS.find(({ name }) => name === first || name === `${first} ${second}`);
  const group = verb === undefined ? VERBS.filter(({ name }) => name.startsWith(`${first} `)) : [verb];
  const help = group.map(helpOf).join('\n\n');
  if (group.length > 0 && args.includes('--help')) {
    terminal.line(help);
    return 0;
  }
  if (verb === undefined) throw new UsageError(help || unknownVerb(first));
  const call = callOf(verb, args.slice(verb.name.split(' ').length), terminal);
  return (await verb.load())(call);
}

function unknownVerb(name: string): string {
  // In the built package, `command.mjs` handles these words before it runs a verb.
  const programs = IS_BUILT ? ['start', 'setup', 'producer', 'worker'] : [];
  const names = new Set([...programs, ...VERBS.map((verb) => verb.name.split(' ')[0])]);
  return `There is no verb "${name}". The verbs are: ${[...names].join(', ')}.`;
}
