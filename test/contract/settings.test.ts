import { expect, test } from '@jest/globals';
import { CONSTANTS, readSettings } from '../../shared/base/settings.ts';
import { product, read } from '../house/sources.ts';

/** Holds `.env.example` and docs/settings.md to the one table of settings, in shared/base/settings.ts. */
const [TABLE = ''] = read('shared/base/settings.ts').split('export const CONSTANTS');
const NAMES = [...TABLE.matchAll(/^ {2}([A-Z][A-Z0-9_]+): /gm)].map(([, name = '']) => name);
const ROWS = [...read('docs/settings.md').matchAll(/^\| `([A-Z0-9_]+)` \| (.+?) \| .* \|$/gm)];
const OFFERED = [...read('.env.example').matchAll(/^#?([A-Z][A-Z0-9_]+)=(.*)$/gm)];
/** Read by Compose. */
const OF_OTHERS = ['REDIS_PASSWORD', 'GRAFANA_ADMIN_PASSWORD', 'TRACES_KEPT_PERCENT'];
/** What is MODEL where nothing else is named. */
const OF_MODEL = ['MODELS', 'COMPACTION_MODEL'];
/** Not offered to operators. */
const FOR_TESTS = 'SPILLWAY_FAIL_AT';
/** Offered with an example, since they have no default. */
const EXAMPLES = ['REDIS_URL', 'OTEL_EXPORTER_OTLP_ENDPOINT', 'TRANSCRIPTION_BASE_URL'];

function settingOf(name: string, set: Record<string, string> = {}): unknown {
  const reading = readSettings(set, 'tool');
  if (!reading.ok) throw new Error(reading.problems.join('\n'));
  return reading.settings[name as keyof typeof reading.settings];
}

test('.env.example and docs/settings.md name each setting once, and nothing else', () => {
  const sorted = NAMES.toSorted();
  expect(ROWS.map(([, name = '']) => name).toSorted()).toEqual(sorted);
  const offered = OFFERED.map(([, name = '']) => name).filter((name) => !OF_OTHERS.includes(name));
  expect([...offered, FOR_TESTS].toSorted()).toEqual(sorted);
});

test.each(ROWS.map(([, name = '', stated = '']) => [name, stated]))('%s has the default %s', (name, stated) => {
  if (OF_MODEL.includes(name)) expect([settingOf(name)].flat()).toEqual([settingOf('MODEL')]);
  else if (stated !== '—') expect(settingOf(name, { [name]: stated.replaceAll('`', '') })).toEqual(settingOf(name));
  else expect([undefined, '', false]).toContainEqual(emptied(settingOf(name)));
});

test.each(
  OFFERED.map(([, name = '', value = '']) => ({ name, value })).filter(
    ({ name, value }) => value !== '' && ![...OF_OTHERS, ...EXAMPLES].includes(name),
  ),
)('.env.example: $name=$value is the default', ({ name, value }) => {
  expect(settingOf(name, { [name]: value })).toEqual(settingOf(name));
  expect(ROWS.find(([, each]) => each === name)?.[2]).toBe(`\`${value}\``);
});

test('each setting and each constant is read somewhere, by its name', () => {
  const sources = product.filter((file) => !file.endsWith('base/settings.ts'));
  const words = new Set(sources.flatMap((file) => read(file).match(/\b[A-Z][A-Z0-9_]+\b/g) ?? []));
  expect([...NAMES, ...Object.keys(CONSTANTS)].filter((name) => !words.has(name))).toEqual([]);
});

/** A value that holds nothing is none. */
function emptied(value: unknown): unknown {
  const isEmpty = (Array.isArray(value) && value.length === 0) || (value instanceof Set && value.size === 0);
  return isEmpty ? undefined : value;
}
