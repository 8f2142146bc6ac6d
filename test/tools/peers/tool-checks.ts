import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { jpegPhoto } from '../../fixture/files.ts';
import { callsTools, resultsIn } from '../../fixture/notebook.ts';
import type { ClaudeCall } from '../../stand-in/claude/reaction.ts';
import type { Block } from '../../stand-in/claude/request.ts';
import type { Check } from './check.ts';
import { type Exchange, freshChat, type Ground, violationsIn } from './ground.ts';

/** Tools of `everything` that are called without arguments that matter. One waits for seconds, one asks other hosts. */
const NOT_CALLED = ['trigger-long-running-operation', 'gzip-file-as-resource'];
const ARGUMENTS: Readonly<Record<string, object>> = {
  echo: { message: 'hello' },
  'get-sum': { a: 2, b: 40 },
  'get-annotated-message': { messageType: 'error', includeImage: true },
  'get-resource-links': { count: 3 },
  'get-resource-reference': { resourceType: 'Blob', resourceId: 1 },
  'get-structured-content': { location: 'Chicago' },
  'simulate-research-query': { topic: 'boats' },
};

let ids = 0;

function use(name: string, input: object = {}): Block {
  return { type: 'tool_use', id: `toolu_${++ids}`, name, input };
}

/** The results of the last round that the model saw. */
function seenIn({ calls }: Exchange): Block[] {
  const last = calls.filter(({ kind }) => kind === 'main').at(-1);
  return last ? resultsIn(last) : [];
}

async function afterRounds(ground: Ground, ...rounds: Block[][]): Promise<Exchange> {
  ground.play(callsTools(...rounds));
  const exchange = await freshChat(ground).ask('Use your tools.');
  assert.equal(exchange.outcome.outcome, 'answered');
  assert.deepEqual(exchange.shown, [`Done after ${rounds.length} rounds.`]);
  assert.deepEqual(violationsIn(exchange), []);
  return exchange;
}

const toolsOf = (call: ClaudeCall | undefined): string[] => (call?.body.tools ?? []).map(({ name }) => String(name));
const json = (value: unknown): string => JSON.stringify(value);

/** Calls every tool of a server in one round, and looks whether the model saw a result of each. */
async function callAll(ground: Ground, server: string): Promise<string> {
  const first = await freshChat(ground).ask('Hello');
  const names = toolsOf(first.calls[0]).filter((name) => name.startsWith(`${server}__`));
  const called = names.filter((name) => !NOT_CALLED.some((odd) => name.endsWith(odd)));
  assert.ok(called.length >= 8, `only ${called.length} tools`);
  const round = called.map((name) => use(name, ARGUMENTS[name.replace(`${server}__`, '')]));
  const exchange = await afterRounds(ground, round);
  const results = seenIn(exchange);
  assert.equal(results.length, round.length);
  assert.equal(
    results.filter((result) => longestLine(result) > 2_000).length,
    0,
    'something long like base64 is shown as text',
  );
  assert.ok(!json(results).includes(String(ground.world.env.ANTHROPIC_API_KEY)), 'a secret of the gateway was shown');
  const failed = round.filter((_, index) => results[index]?.is_error === true).map(({ name }) => name);
  const pictures = results.filter((result) => json(result.content).includes('"type":"image"')).length;
  assert.ok(pictures > 0, 'no picture was seen as a picture');
  return `${round.length} of ${names.length} tools called, ${pictures} results with pictures, error results: ${failed.join(', ') || 'none'}`;
}

/** The longest run without white space in the texts of a result. */
function longestLine({ content }: Block): number {
  const texts = Array.isArray(content)
    ? content.map((part: Block) => (part.type === 'text' ? String(part.text) : ''))
    : [String(content)];
  return Math.max(0, ...texts.flatMap((text) => text.split(/\s+/).map((word) => word.length)));
}

/** What tools need. */
export const TOOL_CHECKS: readonly Check[] = [
  {
    name: 'the tools of all servers are offered, and the API would take them',
    async run(ground) {
      const exchange = await freshChat(ground).ask('Hello');
      const names = toolsOf(exchange.calls[0]);
      const count = (server: string): number => names.filter((name) => name.startsWith(`${server}__`)).length;
      const servers = ['everything', 'remote', 'filesystem', 'memory'];
      for (const server of servers) assert.ok(count(server) > 0, `no tool of ${server}`);
      assert.deepEqual(violationsIn(exchange), []);
      assert.deepEqual(exchange.events, []);
      return servers.map((server) => `${server} ${count(server)}`).join(', ');
    },
  },
  {
    name: 'a file is written, listed and read, in three rounds',
    async run(ground) {
      const files = ground.mcp?.files ?? '';
      const path = join(files, 'note.txt');
      const exchange = await afterRounds(
        ground,
        [use('filesystem__write_file', { path, content: 'The boat is blue.' })],
        [use('filesystem__list_directory', { path: files })],
        [use('filesystem__read_text_file', { path })],
      );
      assert.equal(await readFile(path, 'utf8'), 'The boat is blue.');
      const [read] = seenIn(exchange);
      assert.equal(json(read).split('The boat is blue.').length, 2, 'the text is not shown exactly once');
      return `${exchange.calls.length} calls of the model, the file's text is shown once`;
    },
  },
  {
    name: 'what a server refuses is an error result, and the turn goes on',
    async run(ground) {
      const exchange = await afterRounds(ground, [
        use('filesystem__read_text_file', { path: '/etc/hostname' }),
        use('filesystem__read_text_file', { wrong: true }),
        use('memory__delete_entities', { entityNames: ['nobody'] }),
      ]);
      const errors = seenIn(exchange).map(({ is_error }) => is_error === true);
      assert.deepEqual(errors, [true, true, false]);
      return 'outside of its folder: error; wrong arguments: error; nothing to delete: no error';
    },
  },
  {
    name: 'a picture that is read is seen as a picture, its base64 never as text',
    async run(ground) {
      const path = join(ground.mcp?.files ?? '', 'boat.jpg');
      const photo = await jpegPhoto(640, 480);
      await writeFile(path, photo);
      const exchange = await afterRounds(ground, [use('filesystem__read_media_file', { path })]);
      const [result] = seenIn(exchange);
      const parts = (result?.content ?? []) as Block[];
      assert.deepEqual(parts.filter(({ type }) => type === 'image').length, 1);
      assert.ok(result && longestLine(result) < 500, 'base64 is shown as text');
      return `${photo.length} bytes of JPEG: parts ${parts.map(({ type }) => type).join(', ')}`;
    },
  },
  {
    name: 'a memory outlives the turn',
    async run(ground) {
      const entity = { name: 'Maria', entityType: 'boat', observations: ['is blue'] };
      await afterRounds(ground, [use('memory__create_entities', { entities: [entity] })]);
      const exchange = await afterRounds(ground, [use('memory__read_graph')]);
      assert.match(json(seenIn(exchange)), /is blue/);
      return 'another chat reads it';
    },
  },
  {
    name: 'every odd tool of server-everything is called at once (stdio)',
    run: (ground) => callAll(ground, 'everything'),
  },
  {
    name: 'every odd tool of server-everything is called at once (streamable HTTP)',
    run: (ground) => callAll(ground, 'remote'),
  },
];
