import { readProcessConfig } from '../../shared/base/config.ts';
import { runVerb } from './verbs.ts';

process.exitCode = await runVerb(process.argv.slice(2), {
  readConfig: readProcessConfig,
  input: process.stdin,
  line: (text) => void process.stdout.write(`${text}\n`),
  note: (text) => void process.stderr.write(`${text}\n`),
});
