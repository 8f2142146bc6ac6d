import { parseArgs } from 'node:util';
import { type Terminal, UsageError } from './terminal.ts';

/** A verb of the command line. Returns the exit code; throws `UsageError` for invalid arguments. */
type Verb = (args: string[], terminal: Terminal) => Promise<number>;

/** Each verb is loaded alone: what the others need would make up most of its time. */
const VERBS: Readonly<Record<string, () => Promise<Verb>>> = {
  actions: async () => (await import('./actions.ts')).actions,
  audit: async () => (await import('./audit.ts')).audit,
  cancel: async () => (await import('./cancel.ts')).cancel,
  chat: async () => (await import('./chat.ts')).chat,
  check: async () => (await import('./check.ts')).check,
  dead: async () => (await import('./dead.ts')).dead,
  incidents: async () => (await import('./incidents.ts')).incidents,
  message: async () => (await import('./message.ts')).message,
  pause: async () => (await import('./pause.ts')).pause,
  resume: async () => (await import('./pause.ts')).resume,
  retry: async () => (await import('./retry.ts')).retry,
  session: async () => (await import('./session.ts')).session,
  status: async () => (await import('./status.ts')).status,
};

const HELP = `Usage: npm run cli -- <verb> [options]

  status [--watch]          the state of everything on one screen: green, yellow or red, and why
  message <id>              the life of one message, where it is now, and what can be done
  chat <chat>               the state of one chat: lane, session, newest outcomes, cost of today
  incidents                 what is wrong or lately was: cause, since when, how many, what to do
  cancel <id>|<chat>        ends one message, or all that a chat waits for, as /stop does
  retry <id>                tries a message again now: one that was put off, or one that failed
  pause|resume [chat]       lets a chat, or every chat, rest; messages are accepted and wait
  actions                   who did what, when and why
  check                     checks the configuration and every connection, tool servers included
  audit [--days N]          outcomes, the proof, context safety, latency, tokens, cost, top chats
  dead list|show|replay|purge   messages that failed; by chat, reason and time
  session show <chat>       what the chat's session is made of
  session export <chat>     writes the session as JSON lines to standard output
  session import <chat> [file]   reads JSON lines (a file, or standard input) as the chat's new session
  session reset <chat>      starts an empty session; the old one is kept
  session forget <chat>     erases all of the chat for good: conversations, files, failed messages

A chat is its numeric id, with .<topic> where it has topics. Each verb takes --help, and --json for machines.
Exit codes: 0 done, 1 failed, red or not found, 2 configuration or usage.
`;

/** Runs the verb that the arguments name. Returns the exit code; what went wrong is noted, and never thrown. */
export async function runVerb(args: string[], terminal: Terminal): Promise<number> {
  try {
    return await run(args, terminal);
  } catch (error) {
    terminal.note(error instanceof Error ? error.message : String(error));
    return error instanceof UsageError ? 2 : 1;
  }
}

async function run(args: string[], terminal: Terminal): Promise<number> {
  const { positionals } = parseArgs({ args: args.slice(0, 1), allowPositionals: true, strict: false });
  const [name] = positionals;
  if (name === undefined || name === 'help') {
    terminal.line(HELP);
    return args[0] === '--help' || args[0] === '-h' || name === 'help' ? 0 : 2;
  }
  const load = VERBS[name];
  if (!load) throw new UsageError(`There is no verb "${name}". The verbs are: ${Object.keys(VERBS).join(', ')}.`);
  const verb = await load();
  return verb(args.slice(1), terminal);
}
