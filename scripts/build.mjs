/**
 * `npm run build`: bundles the gateway's programs into a package in `dist`. About 800 modules become a few files, which Node
 * loads in half the time and with 20 MB less memory (docs/decisions.md, 16). The image runs the package, and `npm pack ./dist`
 * packs it for an installation without a clone. A clone runs the sources. An argument names a folder other than `dist`.
 */
import { execSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { build } from 'esbuild';
import project from '../package.json' with { type: 'json' };

const root = dirname(import.meta.dirname);
const outdir = resolve(root, process.argv[2] ?? 'dist');

/**
 * Packages that the bundle leaves in node_modules. A program loads most of them on first use, because many installations never
 * need them: the S3 client, the console, MCP, the exporters, the rate limiter, `sharp` (native code) and `unpdf`. Telegraf
 * stays there because it uses deprecated APIs of Node, about which Node warns only in code outside node_modules.
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
 * The programs, all in one folder, so that each finds the same files next to itself. Other programs start `decoder` as a
 * process and load `frozen` in a thread, by these file names.
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

/** Rewrites `import.meta.dirname`, so that bundled code finds other programs, and the files next to its source, such as Lua. */
const rewriteFolders = {
  name: 'in-place',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const own = `(import.meta.dirname + ${JSON.stringify(`/${relative(root, dirname(path))}`)})`;
      const placed = readFileSync(path, 'utf8').replace(/import\.meta\.dirname(?:, '(\w+)\.ts')?/g, (_, program) =>
        program === undefined ? own : `import.meta.dirname, '${program}.js'`,
      );
      return { loader: 'ts', contents: useCommand(placed) };
    });
  },
};

/** Replaces npm scripts in texts for people with the package's command, because the package has no npm scripts. */
function useCommand(text) {
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
  // CommonJS packages load Node's own modules with `require`, which an ES module does not have.
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
  },
  plugins: [rewriteFolders],
});
copyDataFiles();
writePackage();

function copyDataFiles() {
  const files = globSync('{producer,shared,worker}/**/*.{lua,json,css}', { cwd: root });
  for (const file of [...files, 'LICENSE', 'README.md']) cpSync(join(root, file), join(outdir, file));
  mkdirSync(join(outdir, 'docs'));
  for (const file of ['.env.example', join('docs', 'runbook.md')])
    writeFileSync(join(outdir, file), useCommand(readFileSync(join(root, file), 'utf8')));
  cpSync(join(import.meta.dirname, 'command.mjs'), join(outdir, 'command.mjs'));
}

/** Writes package.json with only the `external` dependencies, and the project's lock, from which npm removes the rest. */
function writePackage() {
  const { private: _, scripts: __, devDependencies: ___, optionalDependencies: ____, ...own } = project;
  const dependencies = Object.fromEntries(external.map((name) => [name, own.dependencies[name]]));
  const about = {
    ...own,
    keywords: ['telegram', 'claude', 'gateway', 'bot', 'redis', 'bullmq', 'opentelemetry'],
    bin: { [own.name]: 'command.mjs' },
    // The package is a program, so nobody may import its modules.
    exports: { './package.json': './package.json' },
    publishConfig: { access: 'public', provenance: true },
    dependencies,
  };
  writeFileSync(join(outdir, 'package.json'), `${JSON.stringify(about, undefined, 2)}\n`);
  cpSync(join(root, 'package-lock.json'), join(outdir, 'npm-shrinkwrap.json'));
  execSync('npm install --package-lock-only --offline --ignore-scripts', { cwd: outdir, stdio: 'ignore' });
}
