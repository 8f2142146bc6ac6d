import { readSettings } from '../shared/base/settings.ts';
import { isWritable } from './env-write.ts';

/** The fault in a value of a setting, in words that do not quote the value; `undefined` for a good value. Pure. */
export function faultOf(name: string, value: string): string | undefined {
  if (value === '') return 'This cannot be empty.';
  if (!isWritable(value)) return 'A value cannot contain a quote or a line break.';
  const reading = readSettings({ [name]: value }, 'tool');
  const problem = reading.ok ? undefined : reading.problems.find((each) => each.startsWith(`${name} `));
  return problem?.replace(/^.*?: /, '');
}

/** Adds an id to a comma-separated list of ids, unless the list has the id. Pure. */
export function withId(list: string | undefined, id: number): string {
  const ids = (list ?? '').split(',').flatMap((each) => each.trim() || []);
  return [...new Set([...ids, String(id)])].join(',');
}

/** The first id of a person in a comma-separated list; `undefined` if it has none. Groups have negative ids. Pure. */
export function firstPerson(list: string | undefined): number | undefined {
  return (list ?? '')
    .split(',')
    .map(Number)
    .find((id) => Number.isSafeInteger(id) && id > 0);
}
