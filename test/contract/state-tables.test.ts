import { expect, test } from '@jest/globals';
import { read, sourcesIn } from '../house/sources.ts';

const FIELDS =
  /this\.(?:set|unset|add|text|number|json)\(\s*'(\w+)'|fields\.has\('(\w+)'\)|this\.set\([^)]*?, '(\w+)',/g;

test('docs/state.md names each field that the verbs of a turn write or read', () => {
  const names = sourcesIn('shared/state/turn').flatMap((file) =>
    [...read(file).matchAll(FIELDS)].flatMap((found) => found.slice(1).filter((name) => name !== undefined)),
  );
  const page = read('docs/state.md');
  expect(names.length).toBeGreaterThan(40);
  expect([...new Set(names)].filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test('docs/context-management.md names each event of the audit trail, and the table of reports each that there is', () => {
  const table = read('worker/lane/events.ts');
  const audited = [...table.matchAll(/^ {2}'([a-z.-]+)': \{\s*audit: true/gm)].map(([, name = '']) => name);
  const page = read('docs/context-management.md');
  expect(audited.length).toBeGreaterThan(14);
  expect(audited.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});
