import { join } from 'node:path';
import { readEnvFile } from '../shared/base/env-file.ts';
import { PROJECT_ROOT, refuse } from '../shared/base/project.ts';
import { useProxy } from '../shared/base/proxy.ts';
import { ownEnvironment, readSettings, type Settings, settingsFile } from '../shared/base/settings.ts';
import { createTelegram } from '../shared/telegram/client.ts';
import { askWindow, checkModel } from '../worker/cli/check-model.ts';
import { writeEnv } from './env-write.ts';
import { isReceived, letIn } from './gateway.ts';
import { guide } from './guide.ts';
import { begin, findOverrides, type SetupPorts, type Values } from './progress.ts';
import { CancelledError, openTerminal, type Terminal } from './terminal.ts';

const NO_TERMINAL =
  'npm run setup asks questions, so it needs a terminal. Without one, copy .env.example to .env, fill it in, ' +
  'and check it with npm run cli -- check.';
const NO_FILE = 'SPILLWAY_ENV_FILE is none, so there is no file for the settings. Run "unset SPILLWAY_ENV_FILE" first.';
/** The exit code that a shell reports for a program that Ctrl-C ended. */
const EXIT_CANCELLED = 130;

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => stop.abort());
await main();

async function main(): Promise<void> {
  const file = settingsFile();
  if (file === undefined) return refuse([NO_FILE]);
  const { values, problems } = readEnvFile(file) ?? { values: {}, problems: [] };
  if (problems.length > 0) return refuse([...problems, 'Fix that first: npm run setup cannot read the file as it is.']);
  const unusable = useProxy({ ...values, ...ownEnvironment() });
  if (unusable.length > 0) return refuse(unusable);
  if (!process.stdin.isTTY || !process.stdout.isTTY) return refuse([NO_TERMINAL]);
  await talk(file, values, openTerminal(stop.signal));
}

async function talk(file: string, values: Values, terminal: Terminal): Promise<void> {
  const environment = ownEnvironment();
  let progress = begin(values, environment);
  terminal.open('Spillway setup. Ctrl-C stops it; nothing is written before you say so.');
  try {
    await guide(portsOf(file, terminal), progress, (now) => {
      progress = now;
    });
    for (const name of findOverrides(progress, environment)) {
      terminal.warn(`${name} is also set in the environment of this terminal, which wins over the file.`);
    }
    terminal.close('Next: npm run cli -- check tries every connection, and npm start starts the gateway.');
  } catch (error) {
    if (!(error instanceof CancelledError)) throw error;
    terminal.close(`Stopped. ${progress.done.includes('save') ? `${file} is written.` : 'Nothing was written.'}`);
    process.exitCode = EXIT_CANCELLED;
  }
}

function portsOf(file: string, terminal: Terminal): SetupPorts {
  return {
    terminal,
    file,
    signal: stop.signal,
    connect: (values) => {
      const settings = settingsIn(values, ['TELEGRAM_BOT_TOKEN', 'TELEGRAM_API_ROOT']);
      return createTelegram({ token: settings.TELEGRAM_BOT_TOKEN, apiRoot: settings.TELEGRAM_API_ROOT });
    },
    tryModel: async (values) => {
      const settings = settingsIn(values, ['ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL', 'MODEL']);
      const [finding] = await checkModel({ settings, window: askWindow(settings) });
      return finding;
    },
    isReceived: (values) =>
      isReceived(values, readEnvFile(file)?.values.TELEGRAM_BOT_TOKEN === values.TELEGRAM_BOT_TOKEN),
    letIn,
    save: (changes) => writeEnv(file, join(PROJECT_ROOT, '.env.example'), changes),
  };
}

/** Reads only the named settings, so that a mistake in another setting does not stop the setup. Throws if one is wrong. */
function settingsIn(values: Values, names: readonly string[]): Settings {
  const reading = readSettings(Object.fromEntries(names.map((name) => [name, values[name]])), 'tool');
  if (!reading.ok) throw new Error(reading.problems.join('\n'));
  return reading.settings;
}
