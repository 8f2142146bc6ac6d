import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { searchPath } from '../../fixture/environment.ts';

/** A program that nobody here wrote. */
export type ToolName = 'promtool' | 'prometheus' | 'amtool' | 'alertmanager' | 'otelcol' | 'jaeger';

/** The files of those that are there. */
export type Tools = Readonly<Partial<Record<ToolName, string>>>;

/** Other names under which the same program is installed, the fullest first. */
const ALSO: Readonly<Partial<Record<ToolName, readonly string[]>>> = {
  otelcol: ['otelcol-contrib', 'otelcol'],
  jaeger: ['jaeger-all-in-one', 'jaeger'],
};
const VERSION_ARGUMENT: Readonly<Partial<Record<ToolName, string>>> = { jaeger: 'version' };
const VERSION = /v?(\d+\.\d+\.\d+)/;

/** What each is needed for, in words. */
export const TOOL_NAMES: Readonly<Record<ToolName, string>> = {
  promtool: 'the rules are parsed, and their cases played',
  amtool: 'the configuration of Alertmanager is parsed',
  otelcol: 'metrics and spans arrive anywhere',
  prometheus: 'rules fire and dashboards show something',
  jaeger: 'traces are fetched back',
  alertmanager: 'alerts are grouped and a cause hides what follows from it',
};

/** The folders that are searched, the project's own first. */
export function foldersOf(own: string, path = searchPath()): string[] {
  return [own, ...path.split(delimiter)];
}

/** Finds what there is. A program that does not say its version is taken for another one. */
export function findTools(folders: readonly string[]): Tools {
  const names = Object.keys(TOOL_NAMES) as ToolName[];
  return Object.fromEntries(names.flatMap((name) => findTool(name, folders).map((file) => [name, file])));
}

function findTool(name: ToolName, folders: readonly string[]): string[] {
  const candidates = folders.flatMap((folder) => (ALSO[name] ?? [name]).map((file) => join(folder, file)));
  return candidates.filter((file) => existsSync(file) && saysVersion(file, VERSION_ARGUMENT[name])).slice(0, 1);
}

function saysVersion(file: string, argument = '--version'): boolean {
  const { stdout, stderr } = spawnSync(file, [argument], { encoding: 'utf8', timeout: 20_000 });
  return VERSION.test(`${stdout}${stderr}`);
}

/** What is missing, in one plain line each. */
export function missingTools(tools: Tools): string[] {
  return Object.entries(TOOL_NAMES)
    .filter(([name]) => tools[name as ToolName] === undefined)
    .map(([name, purpose]) => `${name} was not found, so it is not shown that ${purpose}.`);
}
