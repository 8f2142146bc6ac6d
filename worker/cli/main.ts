import { readOwnSettings } from '../../shared/base/settings.ts';
import { runVerb } from './verbs.ts';

let isRead = true;

/** A reader that leaves early, as `head` does, is no failure, and what a verb changes is not cut off by it. */
function onWriteError(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}

process.stdout.on('error', (error) => {
  onWriteError(error);
  isRead = false;
});
process.stderr.on('error', onWriteError);

process.exitCode = await runVerb(process.argv.slice(2), {
  readConfig: readOwnSettings,
  input: process.stdin,
  isRead: () => isRead,
  line: (text) => void process.stdout.write(`${text}\n`),
  note: (text) => void process.stderr.write(`${text}\n`),
});
