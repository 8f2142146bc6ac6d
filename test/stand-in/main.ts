/**
 * Runs the Claude and Telegram stand-ins alone, so that a gateway can be tried by hand: what is typed here is a
 * Telegram message, and what the bot answers is printed.
 */
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { startClaude } from './claude/server.ts';
import { startTelegram } from './telegram/server.ts';
import { Terminal } from './terminal.ts';

const HELP = `Runs a stand-in Claude and a stand-in Telegram on loopback, and talks to the gateway in between.

  node test/stand-in/main.ts [--telegram-port 8081] [--claude-port 8082] [--thinks 400]

With --thinks, the model thinks for so many tokens before each answer, and binds its thoughts to the conversation.

Type a line: it is a message of chat 1001. What the bot answers there, and its alerts to chat 9001, are printed.
Buttons under a message have numbers.
  :press N      presses the button [N]
  :ask, :note   before it answers the next message, the model asks a question; or it notes something
  :overflow N   the next N main calls are refused as too long
  :window N     the model's window is N tokens from now on
  :quit         end
`;

/** Exit code for a wrong command line, as the gateway itself has it. */
const EXIT_USAGE = 2;

interface Settings {
  readonly telegram: number;
  readonly claude: number;
  /** The tokens of a thought; 0 for a model that does not think. */
  readonly thinks: number;
}

/** Reads the command line: the settings, a text to print and end with, or what is wrong. */
function readSettings(args: string[]): Settings | { help: string } | { wrong: string } {
  try {
    const { values } = parseArgs({
      args,
      options: {
        'telegram-port': { type: 'string', default: '8081' },
        'claude-port': { type: 'string', default: '8082' },
        thinks: { type: 'string', default: '0' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    if (values.help) return { help: HELP };
    const thinks = Number(values.thinks);
    const settings = { telegram: Number(values['telegram-port']), claude: Number(values['claude-port']), thinks };
    const isPort = (port: number): boolean => Number.isInteger(port) && port >= 0 && port <= 65_535;
    if (!isPort(settings.telegram) || !isPort(settings.claude)) return { wrong: 'A port is a number from 0 to 65535.' };
    return Number.isInteger(thinks) && thinks >= 0 ? settings : { wrong: '--thinks is a whole number of tokens.' };
  } catch (error) {
    return { wrong: error instanceof Error ? error.message : String(error) };
  }
}

/** A thought takes a while, as a real one does. */
const PONDERING = { forMs: 3_000, everyMs: 500 };

const BEFORE_ALL_PLAYS_MS = Date.UTC(2026, 0);
const MS_OF_AN_UPDATE = 100;

/**
 * An id behind all of earlier plays, since nobody types ten lines a second: a gateway that kept its data remembers the ids
 * that it has accepted, and would take a message under one of them for a repeat.
 */
function firstUpdateId(): number {
  return Math.floor((Date.now() - BEFORE_ALL_PLAYS_MS) / MS_OF_AN_UPDATE);
}

async function run({ telegram: telegramPort, claude: port, thinks }: Settings): Promise<void> {
  const thinking = thinks > 0 ? { thinks, bindThinking: true, pondering: PONDERING } : {};
  const claude = await startClaude({ port, deltaDelayMs: 30, ...thinking });
  const telegram = await startTelegram({ port: telegramPort, firstUpdateId: firstUpdateId() });
  const terminal = new Terminal(claude, telegram, (text) => process.stdout.write(text));
  terminal.greet();
  const lines = createInterface({ input: process.stdin, ...(process.stdin.isTTY && { output: process.stdout }) });
  lines.setPrompt(process.stdin.isTTY ? 'you> ' : '');
  lines.prompt();
  for await (const line of lines) {
    if (!terminal.take(line.trim())) break;
    lines.prompt();
  }
  lines.close();
  if (!terminal.hasQuit) await terminal.quiet();
  terminal.end();
  await Promise.all([claude.close(), telegram.close()]);
}

const settings = readSettings(process.argv.slice(2));
if ('help' in settings) {
  process.stdout.write(settings.help);
} else if ('wrong' in settings) {
  process.stderr.write(`${settings.wrong}\n\n${HELP}`);
  process.exitCode = EXIT_USAGE;
} else {
  run(settings).catch((error: NodeJS.ErrnoException) => {
    const why =
      error.code === 'EADDRINUSE'
        ? `${error.message}. Choose another with --telegram-port or --claude-port.`
        : error.message;
    process.stderr.write(`${why}\n`);
    process.exit(1);
  });
}
