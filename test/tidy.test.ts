import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { expect, test } from '@jest/globals';

/**
 * The shape of the code, held from the first commit. Ranks: 0 pure, 1 shared adapters, 2 own adapters, 3 steps,
 * 4 queue boundary and composition, 5 roots. A file imports values only from its own rank or a lower one, never in a
 * cycle; producer and worker never import each other; nothing imports a root.
 */
const RANKS: readonly (readonly [rank: number, files: RegExp])[] = [
  [5, /^(?:spillway|producer\/main|worker\/main|worker\/cli\/[\w-]+)\.ts$/],
  [4, /^(?:shared\/root|producer\/producer|worker\/(?:worker|processor|setup|oversight))\.ts$/],
  [
    3,
    /^(?:producer\/(?:poller|acceptance|introduction|webhook|webhook-keeper)|worker\/(?:dispatcher|reconciler|turn|gather|content|opening|ask|call|fallback|react|verdict|command))\.ts$/,
  ],
  [
    3,
    /^worker\/(?:recovery\/(?:compact|cached-summary|kept|summarise|mask|scrub|output|named-tools|trial|give-up|fixed-parts|recover|fresh-session|stage-one|step)|reply\/outbox|tools\/(?:round|result))\.ts$/,
  ],
  [
    2,
    /^(?:producer\/inbox|worker\/(?:lane|ledger|queue|budget|price-file)|worker\/model\/(?:claude|wire)|worker\/session\/(?:store|transfer)|worker\/reply\/(?:typing|drafts))\.ts$/,
  ],
  [3, /^worker\/watch\/watchdog\.ts$/],
  [2, /^producer\/(?:lease|holder|term)\.ts$/],
  [2, /^worker\/watch\/(?:snapshot|dead-man|provider)\.ts$/],
  [2, /^worker\/recovery\/storm\.ts$/],
  [0, /^worker\/watch\/(?:rules|readiness)\.ts$/],
  [2, /^worker\/alerts\/(?:alerter|book-store|tool-servers)\.ts$/],
  [1, /^worker\/alerts\/(?:alerting|channel|deliver|redis-trouble)\.ts$/],
  [0, /^worker\/alerts\/(?:book|cause|conditions|digest|incident|messages|notice-text)\.ts$/],
  [1, /^shared\/heartbeat\.ts$/],
  [2, /^worker\/(?:archivist|session\/archive|tools\/(?:recall|chat-memory))\.ts$/],
  [2, /^worker\/tools\/(?:mcp|mcp-server|mcp-call|mcp-list|mcp-link|mcp-child|mcp-fetch)\.ts$/],
  [
    0,
    /^worker\/tools\/(?:mcp-config|mcp-content|mcp-tool|mcp-schema|mcp-repeated|tool-size|exclusion|server-tools)\.ts$/,
  ],
  [2, /^worker\/media\/(?:picture|pdf|pdf-thread|attachment|store)\.ts$/],
  [
    1,
    /^shared\/(?:log|loss|redis|script|telegram|telegram-guard|telemetry|health|shards|redis-\w+|private-redis|folder-lock|machine)\.ts$/,
  ],
  [
    0,
    /^shared\/(?:alert|keys|telegram-failure|message|bot-command|outcome|text|config|failpoint|lifecycle|project)\.ts$/,
  ],
  [0, /^producer\/(?:intake|patience|webhook-sight)\.ts$/],
  [0, /^worker\/(?:session\/segment|tools\/(?:memory|memory-index|words|snippet|passage))\.ts$/],
  [0, /^worker\/media\/(?:kind|label|fill)\.ts$/],
  [0, /^worker\/(?:attempt|thrown|clock|slots|header|deadline|outage|backoff|audit|notice|pieces)\.ts$/],
  [
    0,
    /^worker\/(?:model\/[\w-]+|session\/(?:record|shown|view|pairs)|recovery\/(?:policy|seed|finished-calls|transcript|left-out)|tools\/(?:tool|joined)|reply\/(?:format|sources))\.ts$/,
  ],
];

const FILE_LINES_MAX = 300;
const FUNCTION_LINES_MAX = 70;
const FORBIDDEN_FOLDERS = /(?:^|\/)(?:utils?|common|helpers?|types?|misc)(?:\/|\.ts$)/;

const root = join(import.meta.dirname, '..');
const product = ['producer', 'worker', 'shared'].flatMap((folder) => sourcesIn(folder)).concat('spillway.ts');
const everything = [...product, ...sourcesIn('test')];

function sourcesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(folder, file));
}

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

function rankOf(file: string): number {
  return RANKS.find(([, files]) => files.test(file))?.[0] ?? Number.NaN;
}

/** Files whose values a file imports; types bind nothing. */
function valueImports(file: string): string[] {
  const imports = read(file).matchAll(/^(?:import|export) (?!type\b)([^;]*?)from '(\.[^']+)';/gms);
  return [...imports]
    .filter(([, names]) => !/^\{(?:\s*type [^,}]+,?)+\s*\}\s*$/.test(names ?? ''))
    .map(([, , target]) => relative(root, normalize(join(root, dirname(file), target ?? ''))));
}

/** Functions with their length, read off the formatter's indentation. */
function functionsOf(file: string): { name: string; lines: number }[] {
  const lines = read(file).split('\n');
  return lines.flatMap((line, start) => {
    const opens =
      /^(\s*)(?:export )?(?:async )?(?:function\*? (\w+)|(?:const (\w+) = )?.*=> \{$|(?:async )?(\w+)\(.*\{$)/.exec(
        line,
      );
    if (!opens || /^\s*(?:if|for|while|switch|describe|return|expect)\b/.test(line)) return [];
    const indent = opens[1] ?? '';
    const end = lines.findIndex((other, index) => index > start && other.startsWith(`${indent}}`));
    return end === -1 ? [] : [{ name: opens[2] ?? opens[3] ?? opens[4] ?? 'anonymous', lines: end - start + 1 }];
  });
}

test.each(product)('%s has a rank and imports values only from its own or a lower one', (file) => {
  const own = rankOf(file);
  expect(own).not.toBeNaN();
  const higher = valueImports(file).filter((target) => !(rankOf(target) <= own));
  expect(higher).toEqual([]);
});

test('nothing imports a root, and producer and worker do not import each other', () => {
  const wrong = product.flatMap((file) =>
    valueImports(file)
      .filter((target) => (rankOf(target) === 5 && !target.startsWith('worker/cli/')) || crosses(file, target))
      .map((target) => `${file} -> ${target}`),
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

test('files and functions stay within their limits', () => {
  const long = everything.filter((file) => read(file).split('\n').length - 1 > FILE_LINES_MAX);
  const longFunctions = everything.flatMap((file) =>
    functionsOf(file)
      .filter(({ lines }) => lines > FUNCTION_LINES_MAX)
      .map(({ name, lines }) => `${file} ${name} ${lines}`),
  );
  expect([...long, ...longFunctions]).toEqual([]);
});

test('the environment is read in shared/config.ts alone', () => {
  expect(product.filter((file) => file !== 'shared/config.ts' && /\bprocess\.env\b/.test(read(file)))).toEqual([]);
});

test('no module mocks, dynamic imports, default exports or folders that mean nothing', () => {
  const wrong = everything.filter((file) => {
    if (file === 'test/tidy.test.ts') return false;
    const text = read(file);
    const exportsDefault = /^export default/m.test(text) && !file.startsWith('test/environment/');
    return FORBIDDEN_FOLDERS.test(file) || exportsDefault || /\bimport\(|jest\.(?:unstable_)?mock/.test(text);
  });
  expect(wrong).toEqual([]);
});

test('no path of a machine and no unfinished business in what is kept', () => {
  const wrong = everything.filter((file) =>
    /\/(?:work|home|root)\/\w|\bTODO\b|\bFIXME\b/.test(read(file).replaceAll(/https?:\S+/g, '')),
  );
  expect(wrong.filter((file) => file !== 'test/tidy.test.ts')).toEqual([]);
});

test('the functions of a file are really measured', () => {
  const measured = functionsOf('worker/recovery/policy.ts');
  expect(measured).toContainEqual({ name: 'nextStep', lines: expect.any(Number) });
});
