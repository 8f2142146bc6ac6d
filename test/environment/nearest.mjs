import { relative } from 'node:path';
import Sequencer from '@jest/test-sequencer';

/** Starts the suites whose path shares most words with the changed file, so that a mutant is caught early. */
export default class NearestFirst extends Sequencer {
  async sort(tests) {
    const wanted = new Set(wordsOf(process.env.MUTANT_FILE ?? ''));
    const near = ({ path, context }) =>
      wordsOf(relative(context.config.rootDir, path)).filter((word) => wanted.has(word)).length;
    const sorted = await super.sort(tests);
    return sorted.toSorted((one, other) => near(other) - near(one));
  }
}

function wordsOf(path) {
  return path.replace(/\.(?:test\.)?\w+$/, '').split(/[/-]/);
}
