import { dirname } from 'node:path';
import { expect, test } from '@jest/globals';
import { BUDGETS, overBudget, WORD_ADVICE, WORD_BUDGETS } from './house/budgets.ts';
import { measureHouse } from './house/figures.ts';
import {
  everything,
  functionsOf,
  importsAtOnce,
  lateImports,
  linesOf,
  ownImports,
  percentile,
  product,
  read,
  valueImports,
} from './house/sources.ts';
import { measureWords } from './house/words.ts';

/**
 * The rooms of the house, from the ground up: a file imports values only from its own room and from those that stand before
 * it here. Read from the bottom, it is the architecture. `producer` and `worker` never import each other, and nothing imports
 * a root.
 */
const ROOMS = [
  'shared/base',
  'shared/texts',
  'shared/private-redis',
  'shared/redis',
  'shared/telegram',
  'shared/flow',
  'shared/state',
  'shared/state/incident',
  'shared/state/chat',
  'shared/state/message',
  'shared/state/lane',
  'shared/state/turn',
  'shared/state/session',
  'shared/state/reminder',
  'shared/state/memory',
  'shared/state/blob',
  'shared/state/spending',
  'shared/state/process',
  'shared/state/pairing',
  'shared/state/provider',
  'shared/state/telegram',
  'shared/app',
  'producer/accept',
  'producer/receive',
  'producer',
  'worker/model/errors',
  'worker/model',
  'worker/model/rules',
  'worker/model/claude',
  'worker/blob',
  'worker/media',
  'worker/budget',
  'worker/alerts/causes',
  'worker/alerts',
  'worker/lane',
  'worker/session',
  'worker/reply/format',
  'worker/reply',
  'worker/tools',
  'worker/recovery',
  'worker/ask',
  'worker/command',
  'worker/turn',
  'worker/watch',
  'worker/report',
  'worker/operator',
  // They do not import each other; a folder within one stands before it.
  ...[...new Set(product.map(dirname))]
    .filter((room) => room.startsWith('worker/features/'))
    .sort()
    .reverse(),
  'worker',
  'worker/cli',
  'setup',
  '.',
] as const;
/** Files that start a process. */
const ROOTS = /^(?:spillway|producer\/main|worker\/main|worker\/media\/decoder|worker\/cli\/main|setup\/main)\.ts$/;
/** A Redis of our own is for the demo, for tests and for a start without REDIS_URL. */
const PRIVATE = 'shared/private-redis';
const USERS_OF_PRIVATE: readonly string[] = [PRIVATE, 'shared/app'];

/** The packages that every gateway loads. */
const LOADED_AT_ONCE: readonly string[] = [
  '@anthropic-ai/sdk',
  '@opentelemetry/api',
  '@opentelemetry/context-async-hooks',
  'bullmq',
  'cron-parser',
  'ioredis',
  'leven',
  'luxon',
  'marked',
  'p-throttle',
  'pino',
  'telegraf',
  'zod',
];

/** Where code that many installations never use is loaded only when it is first needed: it costs start time and memory. */
const LOADED_LATE: Readonly<Record<string, readonly string[]>> = {
  'worker/blob/bucket-store.ts': ['./bucket.ts'],
  'shared/app/loop-watch.ts': ['program'],
  'shared/base/telemetry.ts': ['./exporter.ts', './prometheus.ts'],
  'shared/state/telegram/group-places.ts': ['rate-limiter-flexible'],
  'worker/features/mcp/feature.ts': ['./toolbox.ts'],
  'worker/features/console/feature.ts': ['./console.ts'],
  'worker/media/decoder.ts': ['unpdf', './picture.ts'],
  'worker/model/claude/endpoint.ts': ['@anthropic-ai/sdk'],
  'worker/cli/verbs.ts': ['./act.ts', './session.ts', './check.ts'],
  'worker/report/reports.ts': [
    ...['./status.ts', './message.ts', './chat.ts', './incidents.ts', './incidents.ts', './operators.ts'],
    ...['./audit-report.ts', './audit-report.ts', './message-timeline.ts', './letters.ts', './letters.ts'],
    ...['./session.ts', './operators.ts'],
  ],
  'worker/cli/check.ts': ['../../shared/base/exporter.ts', '../features/mcp/toolbox.ts'],
  'test/integration/setup/package.test.ts': ['part'],
  'test/tools/mutation/runner.ts': ['address'],
};

const FILE_LINES_MAX = 300;
const FUNCTION_LINES_MAX = 60;
/** A long file or function is an exception; but what is always read together stands in one file. */
const FILE_LINES_MEDIAN_MAX = 100;
const FILE_LINES_P90_MAX = 220;
const FUNCTION_LINES_P90_MAX = 20;
const FORBIDDEN_FOLDERS = /(?:^|\/)(?:utils?|common|helpers?|types?|misc)(?:\/|\.ts$)/;

function rankOf(file: string): number {
  return (ROOMS as readonly string[]).indexOf(dirname(file));
}

test.each(product)('%s is in a known room and imports values only from its own room or a lower one', (file) => {
  const own = rankOf(file);
  expect(own).not.toBe(-1);
  const wrong = valueImports(file).filter((target) => !(rankOf(target) <= own) || rankOf(target) === -1);
  expect(wrong).toEqual([]);
});

/** The rooms of a message's way, and those that they use. */
const CORE =
  /^(?:shared|producer|worker\/(?:lane|turn|ask|session|model|recovery|reply|tools|command|media|blob|budget|alerts|watch))\//;

test('the core imports no feature, not even a type', () => {
  const wrong = product.filter(
    (file) => CORE.test(file) && ownImports(file).some((target) => target.startsWith('worker/features/')),
  );
  expect(wrong).toEqual([]);
});

const KNOT_FILES_MAX = 5;

test('at most five files form a knot, in which each leads to all others, types included', () => {
  const next = new Map(product.map((file) => [file, ownImports(file)]));
  const follow = (file: string, found = new Set<string>()): Set<string> => {
    for (const each of next.get(file) ?? []) if (!found.has(each)) follow(each, found.add(each));
    return found;
  };
  const leads = new Map(product.map((file) => [file, follow(file)]));
  const knotOf = (file: string) => [...(leads.get(file) ?? [])].filter((each) => leads.get(each)?.has(file));
  expect(product.filter((file) => knotOf(file).length > KNOT_FILES_MAX)).toEqual([]);
});

test('every room has files and is named in docs/architecture.md', () => {
  const page = read('docs/architecture.md');
  const rooms = ROOMS.filter((room) => room !== '.');
  expect(rooms.filter((room) => !product.some((file) => dirname(file) === room))).toEqual([]);
  expect(rooms.filter((room) => !page.includes(`\`${room}/\``))).toEqual([]);
});

test('no file imports a root (a file that starts a process); producer and worker never import each other', () => {
  const wrong = product.flatMap((file) =>
    valueImports(file)
      .filter((target) => ROOTS.test(target) || crosses(file, target))
      .map((target) => `${file} -> ${target}`),
  );
  expect(wrong).toEqual([]);
});

test('shared imports nothing of producer and worker, not even types', () => {
  const upward = product.filter(
    (file) => file.startsWith('shared/') && ownImports(file).some((target) => /^(?:producer|worker)\//.test(target)),
  );
  expect(upward).toEqual([]);
});

test('only shared/app imports shared/private-redis', () => {
  const wrong = product.filter(
    (file) =>
      !USERS_OF_PRIVATE.includes(dirname(file)) && valueImports(file).some((target) => dirname(target) === PRIVATE),
  );
  expect(wrong).toEqual([]);
});

function crosses(file: string, target: string): boolean {
  return (
    (file.startsWith('producer/') && target.startsWith('worker/')) ||
    (file.startsWith('worker/') && target.startsWith('producer/'))
  );
}

test('there are no import cycles', () => {
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (file: string, path: readonly string[]) => {
    if (path.includes(file)) cycles.push([...path, file].join(' -> '));
    if (path.includes(file) || done.has(file)) return;
    for (const target of valueImports(file)) visit(target, [...path, file]);
    done.add(file);
  };
  for (const file of everything) visit(file, []);
  expect(cycles).toEqual([]);
});

test('no file has more than 300 lines, and no function more than 60', () => {
  const long = everything.filter((file) => linesOf(file) > FILE_LINES_MAX);
  const longFunctions = everything.flatMap((file) =>
    functionsOf(file)
      .filter(({ lines }) => lines > FUNCTION_LINES_MAX)
      .map(({ name, lines }) => `${file} ${name} ${lines}`),
  );
  expect([...long, ...longFunctions]).toEqual([]);
});

test('the product is short: median file 100 lines, nine of ten files 220 and nine of ten functions 20', () => {
  const files = product.map(linesOf);
  const functions = product.flatMap((file) => functionsOf(file).map(({ lines }) => lines));
  expect(percentile(files, 0.5)).toBeLessThanOrEqual(FILE_LINES_MEDIAN_MAX);
  expect(percentile(files, 0.9)).toBeLessThanOrEqual(FILE_LINES_P90_MAX);
  expect(percentile(functions, 0.9)).toBeLessThanOrEqual(FUNCTION_LINES_P90_MAX);
});

test('the house stays within its budgets', () => {
  expect(overBudget({ ...measureHouse() }, BUDGETS)).toEqual([]);
});

test('comments and names are in plain words', () => {
  expect(overBudget(measureWords(), WORD_BUDGETS, WORD_ADVICE)).toEqual([]);
});

test('only shared/base/settings.ts reads process.env', () => {
  expect(product.filter((file) => /\bprocess\.env\b/.test(read(file)))).toEqual(['shared/base/settings.ts']);
});

test('a source of the product asks for its own folder alone, which is all that a bundle keeps true of its place', () => {
  expect(product.filter((file) => /\bimport\.meta\.(?!dirname\b)/.test(read(file)))).toEqual([]);
});

test('no module mocks, default exports or meaningless folder names such as utils', () => {
  const wrong = everything.filter((file) => {
    if (file === 'test/tidy.test.ts') return false;
    const text = read(file);
    const exportsDefault = /^export default/m.test(text) && !file.startsWith('test/environment/');
    return FORBIDDEN_FOLDERS.test(file) || exportsDefault || /jest\.(?:unstable_)?mock/.test(text);
  });
  expect(wrong).toEqual([]);
});

test('only the listed files load something late, and only what is listed', () => {
  const late = everything
    .filter((file) => file !== 'test/tidy.test.ts')
    .map((file) => [file, lateImports(file)] as const)
    .filter(([, targets]) => targets.length > 0);
  expect(Object.fromEntries(late)).toEqual(LOADED_LATE);
});

test('a gateway without tool servers, console, bucket and exporter loads no package that is only for them', () => {
  const loaded = new Set(['spillway.ts']);
  for (const file of loaded) for (const target of importsAtOnce(file).files) loaded.add(target);
  const packages = [...loaded].flatMap((file) => importsAtOnce(file).packages);
  expect([...new Set(packages)].sort()).toEqual(LOADED_AT_ONCE);
});

test('no source file contains a machine path, TODO or FIXME', () => {
  const wrong = everything.filter((file) =>
    /\/(?:work|home|root)\/\w|\bTODO\b|\bFIXME\b/.test(read(file).replaceAll(/https?:\S+/g, '')),
  );
  expect(wrong.filter((file) => file !== 'test/tidy.test.ts')).toEqual([]);
});

test('functionsOf finds decide in worker/recovery/policy.ts, so the length check is not vacuous', () => {
  const measured = functionsOf('worker/recovery/policy.ts');
  expect(measured).toContainEqual({ name: 'decide', lines: expect.any(Number) });
});
