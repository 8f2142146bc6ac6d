/**
 * `npm run build`: makes of the gateway's programs a package, in `dist`. About 800 modules become a few files, which Node loads
 * in half the time and with 20 MB less memory (docs/decisions.md, 16). The image runs it, `npm pack ./dist` packs it for an
 * installation without a clone. From a clone the sources run. An argument names another folder of the project.
 */
import { execSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { build } from 'esbuild';
import project from '../package.json' with { type: 'json' };

const root = dirname(import.meta.dirname);
const outdir = resolve(root, process.argv[2] ?? 'dist');

/**
 * What many installations never use is loaded from node_modules when it is first needed: buckets, the console, MCP,
 * exporters, the limiter of several processes. So is what reads files of people, with code of the machine. And Telegraf,
 * which uses what Node deprecates: Node says so of every file that is not in node_modules.
 */
const external = [
  '@aws-sdk/client-s3',
  '@hono/node-server',
  '@modelcontextprotocol/sdk',
  '@opentelemetry/exporter-prometheus',
  '@opentelemetry/sdk-metrics',
  '@opentelemetry/sdk-node',
  'hono',
  'rate-limiter-flexible',
  'sharp',
  'telegraf',
  'unpdf',
];

/**
 * All in one folder: what a program finds beside itself is the same for each. The decoder is a process and `frozen` a module
 * of a thread: others name their files.
 */
const entryPoints = {
  spillway: 'spillway.ts',
  producer: 'producer/main.ts',
  worker: 'worker/main.ts',
  cli: 'worker/cli/main.ts',
  setup: 'setup/main.ts',
  decoder: 'worker/media/decoder.ts',
  frozen: 'shared/app/frozen.ts',
};

/** A source knows its own folder, from which it reads what lies beside it, such as Lua; and programs, by the names of their files. */
const inPlace = {
  name: 'in-place',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const own = `(import.meta.dirname + ${JSON.stringify(`/${relative(root, dirname(path))}`)})`;
      const placed = readFileSync(path, 'utf8').replace(/import\.meta\.dirname(?:, '(\w+)\.ts')?/g, (_, program) =>
        program === undefined ? own : `import.meta.dirname, '${program}.js'`,
      );
      return { loader: 'ts', contents: inOwnWords(placed) };
    });
  },
};

/** What people are told to type: of a package there is the command alone, and no npm script. */
function inOwnWords(text) {
  return text
    .replace(/npm run cli --/g, 'spillway')
    .replace(/npm (?:run )?(?=(?:start|setup|producer|worker)\b)/g, 'spillway ');
}

rmSync(outdir, { recursive: true, force: true });
await build({
  absWorkingDir: root,
  entryPoints,
  outdir,
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  sourcemap: true,
  sourcesContent: false,
  external,
  // CommonJS packages ask for Node's own modules by `require`, which an ES module does not have.
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
  },
  plugins: [inPlace],
});
copyWhatIsRead();
writePackage();

function copyWhatIsRead() {
  const read = globSync('{producer,shared,worker}/**/*.{lua,json,css}', { cwd: root });
  for (const file of [...read, 'LICENSE', 'README.md']) cpSync(join(root, file), join(outdir, file));
  mkdirSync(join(outdir, 'docs'));
  for (const file of ['.env.example', join('docs', 'runbook.md')])
    writeFileSync(join(outdir, file), inOwnWords(readFileSync(join(root, file), 'utf8')));
  cpSync(join(import.meta.dirname, 'command.mjs'), join(outdir, 'command.mjs'));
}

/** The package depends on what the bundle leaves out, in the versions of the project's lock: npm takes all others out of it. */
function writePackage() {
  const { private: _, scripts: __, devDependencies: ___, optionalDependencies: ____, ...own } = project;
  const dependencies = Object.fromEntries(external.map((name) => [name, own.dependencies[name]]));
  const about = {
    ...own,
    keywords: ['telegram', 'claude', 'gateway', 'bot', 'redis', 'bullmq', 'opentelemetry'],
    bin: { [own.name]: 'command.mjs' },
    // It is a program: nothing of it is to be imported.
    exports: { './package.json': './package.json' },
    publishConfig: { access: 'public', provenance: true },
    dependencies,
  };
  writeFileSync(join(outdir, 'package.json'), `${JSON.stringify(about, undefined, 2)}\n`);
  cpSync(join(root, 'package-lock.json'), join(outdir, 'npm-shrinkwrap.json'));
  execSync('npm install --package-lock-only --offline --ignore-scripts', { cwd: outdir, stdio: 'ignore' });
}
