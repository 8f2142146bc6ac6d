import { sourcesIn } from '../../house/sources.ts';

/** A part of the product whose functions compute and touch nothing, and the suites that hold it. */
export interface PureRoom {
  readonly name: string;
  readonly sources: readonly string[];
  readonly suites: readonly string[];
  /** The least score in percent; it only goes up. */
  readonly floor: number;
  /** How many cases a property draws at most for each mutant; as many as it wants where none is set. */
  readonly runsMax?: number;
}

/** From Markdown to a tree; the rest of the folder draws the tree, and cuts it. */
const READING = ['formula', 'grammar', 'heal', 'inline', 'link', 'marks', 'parse', 'pieces'];
const DRAWING = sourcesIn('worker/reply/format').filter(
  (file) => !READING.some((name) => file.endsWith(`/${name}.ts`)),
);
/** The rest of the folder has effects: integration tests hold it. */
const ACCEPTING = ['gate', 'raw-message', 'read-content', 'read-rich', 'read-update'];

/** The rest of the folder carries steps out: integration tests hold it. */
const COMPACTING = ['kept', 'learnt-limit', 'parts', 'seed', 'summarise', 'transcript', 'window-compaction'];

export const PURE_ROOMS: readonly PureRoom[] = [
  { name: 'model/rules', ...wholeFolder('worker/model/rules'), floor: 91 },
  { name: 'model/errors', ...wholeFolder('worker/model/errors'), floor: 96, runsMax: 20 },
  {
    name: 'recovery/policy',
    sources: ['worker/recovery/policy.ts'],
    suites: suitesIn('worker/recovery', 'policy policy-ends'),
    floor: 97,
  },
  {
    name: 'recovery/compaction',
    sources: COMPACTING.map((name) => `worker/recovery/${name}.ts`),
    suites: suitesIn('worker/recovery'),
    floor: 98,
    runsMax: 100,
  },
  {
    name: 'session/view',
    sources: ['worker/session/view.ts', 'worker/session/turns.ts'],
    suites: suitesIn('worker/session', 'view view-codes overlay session-life'),
    floor: 92,
  },
  {
    name: 'reply/format/read',
    sources: READING.map((name) => `worker/reply/format/${name}.ts`),
    suites: suitesIn('worker/reply/format', 'parse inline pieces heal marks corpus'),
    floor: 87,
    runsMax: 20,
  },
  {
    name: 'reply/format/drawn',
    sources: DRAWING,
    suites: [...suitesIn('worker/reply/format', 'layout entities grid rich pack'), ...suitesIn('worker/reply', 'plan')],
    floor: 94,
    runsMax: 20,
  },
  {
    name: 'accept',
    sources: ACCEPTING.map((name) => `producer/accept/${name}.ts`),
    suites: suitesIn('producer/accept'),
    floor: 88,
  },
];

/** All of a folder of the product, with all of its unit suites. */
function wholeFolder(folder: string): Pick<PureRoom, 'sources' | 'suites'> {
  return { sources: sourcesIn(folder), suites: suitesIn(folder) };
}

/** The unit suites of a folder of the product: all of them, or those of these names. */
function suitesIn(folder: string, names?: string): string[] {
  const wanted = names?.split(' ').map((name) => `/${name}.test.ts`);
  const suites = sourcesIn(`test/unit/${folder}`, /\.test\.ts$/);
  return suites.filter((file) => wanted?.some((ending) => file.endsWith(ending)) ?? true);
}
