import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { temporaryBlobs } from '../../fixture/blobs.ts';
import { spawnRunning } from '../../fixture/process.ts';
import { startOutside } from './outside.ts';
import { emptied, turnCost } from './wire.ts';

const WIDTH = 1_200;
const ROW_HEIGHT = 16;
const CHAR_WIDTH = 6.2;
/** A frame below this share of the time is not drawn: nobody could read it. */
const SHARE_MIN = 0.004;

/** What V8's profiler writes. */
interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number }; children?: number[] }[];
  samples: number[];
}

/** A function with the samples taken in it or below it. */
interface Frame {
  name: string;
  samples: number;
  below: Map<string, Frame>;
}

/** Profiles a gateway that answers over real HTTP, and draws where the time goes as an SVG. */
export async function drawFlameGraph(redisUrl: string, file: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'spillway-profile-'));
  await emptied(redisUrl);
  const [outside, blobs] = await Promise.all([startOutside(0), temporaryBlobs()]);
  const execArgv = ['--cpu-prof', `--cpu-prof-dir=${folder}`];
  const env = { ...outside.env, ...blobs.env, REDIS_URL: redisUrl };
  const gateway = await spawnRunning('spillway.ts', env, { execArgv });
  await turnCost(gateway, outside);
  await gateway.stop();
  await Promise.all([outside.stop(), blobs.remove()]);
  await writeFile(file, await flameGraphIn(folder));
  await rm(folder, { recursive: true });
}

/** The graph of the longest profile that V8 wrote into a folder: a program may have helpers, which do little. */
export async function flameGraphIn(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.cpuprofile'));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  const [longest = '{}'] = texts.toSorted((one, other) => other.length - one.length);
  return flameGraph(JSON.parse(longest) as Profile);
}

/** The graph of a profile: each row is called by the row above it, and as wide as its share of the busy time. */
export function flameGraph(profile: Profile): string {
  const root = framesOf(profile);
  const rows: string[] = [];
  const depth = draw(root, 0, 0, WIDTH / root.samples, root.samples * SHARE_MIN, rows);
  const height = (depth + 1) * ROW_HEIGHT;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="monospace" font-size="10">
<title>Where a turn over HTTP spends its processor time</title>
<rect width="${WIDTH}" height="${height}" fill="#fff"/>
${rows.join('\n')}
</svg>
`;
}

/** Merges the samples that have the same stack. Time in which the process waited is not in it. */
function framesOf({ nodes, samples }: Profile): Frame {
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const root: Frame = { name: 'a turn', samples: 0, below: new Map() };
  for (const sample of samples) {
    const stack: string[] = [];
    for (let id: number | undefined = sample; id !== undefined; id = parents.get(id))
      stack.unshift(names.get(id) ?? '');
    const [, ...called] = stack;
    if (called.at(-1) === '(idle)') continue;
    root.samples += 1;
    let frame = root;
    for (const name of called) {
      const next: Frame = frame.below.get(name) ?? { name, samples: 0, below: new Map() };
      next.samples += 1;
      frame.below.set(name, next);
      frame = next;
    }
  }
  return root;
}

function nameOf({ functionName, url, lineNumber }: Profile['nodes'][number]['callFrame']): string {
  const name = functionName || '(anonymous)';
  return url === '' ? name : `${name} ${basename(url)}:${lineNumber + 1}`;
}

/** Draws a frame and what it calls, and returns how deep that goes. */
function draw(frame: Frame, row: number, from: number, scale: number, least: number, rows: string[]): number {
  const width = frame.samples * scale;
  const text = frame.name.slice(0, Math.floor(width / CHAR_WIDTH));
  const [x, y] = [from.toFixed(1), row * ROW_HEIGHT];
  rows.push(
    `<g><title>${escaped(frame.name)}: ${((width / WIDTH) * 100).toFixed(1)} %</title>` +
      `<rect x="${x}" y="${y}" width="${width.toFixed(1)}" height="${ROW_HEIGHT - 1}" fill="${colourOf(frame.name)}"/>` +
      `${text.length > 2 ? `<text x="${(from + 2).toFixed(1)}" y="${y + 11}">${escaped(text)}</text>` : ''}</g>`,
  );
  let depth = row + 1;
  let at = from;
  for (const next of [...frame.below.values()].toSorted((a, b) => b.samples - a.samples)) {
    if (next.samples < least) continue;
    depth = Math.max(depth, draw(next, row + 1, at, scale, least, rows));
    at += next.samples * scale;
  }
  return depth;
}

/** A colour that one name always has. */
function colourOf(name: string): string {
  let hash = 0;
  for (const char of name) hash = (Math.imul(hash, 31) + char.charCodeAt(0)) >>> 0;
  return `hsl(${20 + (hash % 35)} 85% ${68 + (hash % 14)}%)`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
