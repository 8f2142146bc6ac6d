import { changesOf } from './progress.ts';
import type { RunStep } from './step.ts';
import { CancelledError } from './terminal.ts';

/** Writes the settings file, after it said which of its values change. */
export const saveAnswers: RunStep = async ({ terminal, save, file }, progress) => {
  const changes = changesOf(progress);
  const names = [...changes.keys()].map((name) => `${name}${progress.file[name] ? '  (replaces what is there)' : ''}`);
  terminal.explain(file, names.join('\n'));
  if (!(await terminal.confirm('Write these settings?'))) throw new CancelledError();
  await save(changes);
  terminal.good(`Written, readable by you alone: ${file}`);
  return {};
};
