/**
 * Bundles the gateway's programs: about 800 modules become a few files that Node loads in half the time and with 20 MB
 * less memory (docs/adr/0013). The sources stay what runs where no bundle can be made.
 *
 * Modules that many installations never use stay in node_modules, and are loaded from there when they are first needed.
 * The names of the written files carry a hash of their content, and an older file stays: a running process finds
 * what it has yet to load. `node scripts/bundle.mjs` bundles and starts nothing.
 */
import { createHash, randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What a user starts. */
export const PROGRAMS = ['spillway.ts', 'producer/main.ts', 'worker/main.ts', 'worker/cli/main.ts'];

/**
 * Loaded late, or native: pictures, PDF, buckets, the console, MCP, exporters. And Telegraf, which uses what Node
 * deprecates: Node says so of every file that is not in node_modules.
 */
const LEFT_IN_PLACE = [
  'sharp',
  'unpdf',
  '@aws-sdk/*',
  '@bull-board/*',
  'hono',
  '@hono/*',
  '@modelcontextprotocol/*',
  '@opentelemetry/sdk-*',
  '@opentelemetry/exporter-*',
  'telegraf',
];
/** CommonJS packages ask for Node's own modules by `require`, which an ES module does not have. */
const REQUIRE = `import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);`;
/** How long a part that nothing new refers to is kept for the processes that run with it. */
const KEPT_MS = 30 * 24 * 60 * 60_000;

/**
 * The file to run in place of each program, up to date with the sources and the lock.
 *
 * @param root the project's folder
 * @param programs files relative to it
 * @param folder where the bundle is kept, relative to it
 */
export async function bundle(root, programs = PROGRAMS, folder = join('.cache', 'bundle')) {
  const into = join(root, folder);
  const stamp = join(into, 'stamp.json');
  if (!isCurrent(root, programs, stamp)) await write(root, programs, into, stamp);
  return Object.fromEntries(programs.map((program) => [program, entryOf(into, program)]));
}

function isCurrent(root, programs, stamp) {
  if (!existsSync(stamp)) return false;
  const { sources, digest } = JSON.parse(readFileSync(stamp, 'utf8'));
  return digest === digestOf(root, programs, sources);
}

function digestOf(root, programs, sources) {
  const hash = createHash('sha256').update(JSON.stringify([root, programs, LEFT_IN_PLACE]));
  for (const source of ['package-lock.json', 'scripts/bundle.mjs', ...sources]) {
    const file = join(root, source);
    hash.update(existsSync(file) ? readFileSync(file) : 'absent').update('\0');
  }
  return hash.digest('hex');
}

async function write(root, programs, into, stamp) {
  const { build } = await import('esbuild');
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: programs,
    outbase: '.',
    outdir: into,
    write: false,
    metafile: true,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    sourcemap: 'external',
    sourcesContent: false,
    external: LEFT_IN_PLACE,
    banner: { js: REQUIRE },
    logLevel: 'silent',
    plugins: [inPlace(root)],
  });
  const sources = Object.keys(metafile.inputs).filter(isOurs);
  const files = outputFiles.filter(({ path, text }) => !path.endsWith('.map') || JSON.parse(text).sources.some(isOurs));
  const entries = programs.map((program) => entryOf(into, program));
  // A program comes after the parts that it imports: somebody else may start it at this moment.
  files.sort((a, b) => entries.includes(a.path) - entries.includes(b.path));
  const old = existsSync(stamp) ? JSON.parse(readFileSync(stamp, 'utf8')).files : [];
  for (const { path, contents } of files) writeWhole(path, contents);
  const names = files.map(({ path }) => path);
  writeWhole(stamp, JSON.stringify({ digest: digestOf(root, programs, sources), sources, files: names }));
  sweep(into, old, new Set([stamp, ...names]));
}

function isOurs(source) {
  return !source.includes('node_modules');
}

function entryOf(into, program) {
  return join(into, program.replace(/\.ts$/, '.js'));
}

/** A source knows its own folder, from which it reads what lies beside it, such as Lua. */
function inPlace(root) {
  return {
    name: 'in-place',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        if (!isOurs(path.slice(root.length))) return undefined;
        const source = readFileSync(path, 'utf8');
        return { loader: 'ts', contents: source.replaceAll('import.meta.dirname', JSON.stringify(dirname(path))) };
      });
    },
  };
}

/** Whoever reads the file finds the old content or the new. */
function writeWhole(path, contents) {
  mkdirSync(dirname(path), { recursive: true });
  const part = `${path}.${randomUUID()}.part`;
  writeFileSync(part, contents);
  renameSync(part, path);
}

/** What was replaced is kept from now on, for as long as a process may still run with it. */
function sweep(into, replaced, current) {
  const now = Date.now();
  for (const file of replaced) if (existsSync(file)) utimesSync(file, now / 1000, now / 1000);
  for (const name of readdirSync(into, { recursive: true })) {
    const file = join(into, name);
    const status = statSync(file, { throwIfNoEntry: false });
    if (status?.isFile() && !current.has(file) && now - status.mtimeMs > KEPT_MS) rmSync(file, { force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) bundle(dirname(dirname(process.argv[1])));
