import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { expect, test } from '@jest/globals';
import { all } from '../fixture/yaml-text.ts';
import { read, root, sourcesIn } from '../house/sources.ts';

/** Holds the documents to the repository: what they point at exists, and what an operator can run is in them. */
const SOURCE_FOLDERS = ['.ci', 'docs', 'ops', 'producer', 'scripts', 'setup', 'shared', 'test', 'worker'];

const filesIn = (folder: string) => sourcesIn(folder, /./);

const pages = [...readdirSync(root), ...filesIn('docs')].filter((file) => file.endsWith('.md'));
const names = new Set(
  SOURCE_FOLDERS.flatMap(filesIn)
    .concat(readdirSync(root))
    .map((file) => basename(file)),
);

/** A relative link of a page. */
interface Link {
  text: string;
  file: string;
  anchor: string | undefined;
}

test.each(pages)('every relative link of %s resolves', (page) => {
  const broken = linksOf(page).filter(({ file, anchor }) => {
    if (!existsSync(join(root, file))) return true;
    return anchor !== undefined && !anchorsOf(file).includes(anchor);
  });
  expect(broken.map(({ text }) => text)).toEqual([]);
});

test.each(pages)('every path and file that %s names in backticks exists', (page) => {
  const named = codeOf(page).filter((text) => isPath(text) || isFileName(text));
  expect(named.filter((text) => !(isPath(text) ? existsSync(join(root, text)) : names.has(text)))).toEqual([]);
});

test.each(['docs/features.md', 'docs/flow.md', 'SECURITY.md'])('every test that %s names exists', (page) => {
  const named = all(read(page), /`((?:unit|integration|contract|deep)\/[\w/*-]+)`/g);
  const tests = new Set(filesIn('test').map((file) => file.replace(/^test\//, '').replace(/\.test\.ts$/, '')));
  const exists = (name: string) =>
    name.endsWith('/*') ? [...tests].some((file) => file.startsWith(name.slice(0, -1))) : tests.has(name);
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((name) => !exists(name))).toEqual([]);
});

test('each section of docs/flow.md has tests', () => {
  const [sections = '', table = ''] = read('docs/flow.md').split('\n## Which tests hold this page\n');
  expect(all(table, /^\| ([^|]+) \| .*`/gm)).toEqual(all(sections, /^## (.+)$/gm));
});

test.each(pages)('every npm script that %s names exists', (page) => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const used = all(read(page), /npm run (?:-s )?([a-z][\w:-]*)/g);
  expect(used.filter((name) => !(name in scripts))).toEqual([]);
});

test('every page except README.md is linked from another one', () => {
  const linked = new Set(pages.flatMap((page) => linksOf(page).map(({ file }) => file)));
  const folders = [...linked].filter(
    (file) => existsSync(join(root, file)) && statSync(join(root, file)).isDirectory(),
  );
  const found = (page: string) => linked.has(page) || folders.includes(dirname(page));
  expect(pages.filter((page) => page !== 'README.md' && !found(page))).toEqual([]);
});

test('the newest version in the changelog matches package.json and package-lock.json', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  const lock = JSON.parse(read('package-lock.json')) as {
    version: string;
    packages: Record<string, { version: string }>;
  };
  expect(all(read('CHANGELOG.md'), /^## \[?(\d+\.\d+\.\d+)/gm)[0]).toBe(version);
  expect([lock.version, lock.packages['']?.version]).toEqual([version, version]);
});

function linksOf(page: string): Link[] {
  const targets = all(withoutCode(read(page)), /\]\(([^)\s]+)\)/g).filter((target) => !/^[a-z]+:/.test(target));
  return targets.map((text) => {
    const [path = '', anchor] = text.split('#');
    const file = path === '' ? page : normalize(join(dirname(page), path)).replace(/\/$/, '');
    return { text, file, anchor };
  });
}

/** Of headings with the same name the second has `-1` behind it, and so on. */
function anchorsOf(file: string): string[] {
  const slugs = all(withoutCode(read(file)), /^#{1,6} +(.+)$/gm).map(slugOf);
  return slugs.map((slug, at) => {
    const before = slugs.slice(0, at).filter((other) => other === slug).length;
    return before === 0 ? slug : `${slug}-${before}`;
  });
}

function slugOf(heading: string): string {
  return heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}\s_-]/gu, '')
    .replaceAll(' ', '-');
}

/** What stands in backticks outside of blocks of code. */
function codeOf(page: string): string[] {
  return all(withoutCode(read(page)), /`([^`\n]+)`/g);
}

function isPath(text: string): boolean {
  return /^[\w.-]+(?:\/[\w.-]+)*\/?$/.test(text) && SOURCE_FOLDERS.some((folder) => text.startsWith(`${folder}/`));
}

function isFileName(text: string): boolean {
  return /^[\w-]+\.(?:ts|lua|mjs)$/.test(text);
}

function withoutCode(text: string): string {
  return text.replace(/^ *```[\s\S]*?^ *```/gm, '');
}
