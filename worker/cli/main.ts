import { readOwnSettings } from '../../shared/base/settings.ts';
import { runVerb } from './verbs.ts';

let hasReader = true;

/** Ignores a closed pipe: a reader that ends early, such as `head`, must not interrupt a verb's changes. */
function onWriteError(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}

process.stdout.on('error', (error) => {
  onWriteError(error);
  hasReader = false;
});
process.stderr.on('error', onWriteError);

process.exitCode = await runVerb(process.argv.slice(2), {
  readConfig: readOwnSettings,
  input: process.stdin,
  hasReader: () => hasReader,
  line: (text) => void process.stdout.write(`${text}\n`),
  note: (text) => void process.stderr.write(`${text}\n`),
});
