import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { PROJECT_ROOT } from '../../shared/base/project.ts';
import { NEXT_VERSION } from '../fixture/state/next-version.ts';
import { FINDABLE } from '../schedules/mutants.ts';
import { MUTANTS } from './mutants.ts';

test('each text that a mutant replaces occurs exactly once in its file', () => {
  const all = [...MUTANTS, ...FINDABLE, { name: 'the next version', mutations: NEXT_VERSION }];
  const found = all.flatMap(({ name, mutations }) =>
    mutations.map(({ file, from }) => {
      const times = readFileSync(join(PROJECT_ROOT, file), 'utf8').split(from).length - 1;
      return { name, file, times };
    }),
  );
  expect(found.filter(({ times }) => times !== 1)).toEqual([]);
});
