/** What SECURITY.md promises, line by line, is held by a test that is named here. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { PROJECT_ROOT } from '../../shared/base/project.ts';

/** The beginning of a line of the page, then each test that holds it: its file under `test/` and words of its name. */
type Held = readonly [line: string, ...tests: (readonly [file: string, words: string])[]];

const PROCESS = 'integration/observe/process.test.ts';
const FORGERY = 'integration/accept/forged-header.test.ts';
const SANDBOX = 'integration/tools/sandbox.test.ts';
const FLOOD = 'integration/tools/flood.test.ts';
const SERVERS = 'integration/tools/mcp.test.ts';
const SANDBOXED = 'integration/tools/sandboxed-tools.test.ts';
const MONEY = 'integration/model/money.test.ts';
const MEMORY = 'integration/tools/memory.test.ts';
const HOSTILE = 'integration/media/hostile-files.test.ts';
const NOT_LOGGED = [PROCESS, 'neither the bot token, the key, the password of Redis'] as const;

const HELD: readonly Held[] = [
  [
    '| a stranger on Telegram',
    ['unit/producer/accept/gate.test.ts', 'ignores %s'],
    ['integration/turn/answer.test.ts', 'from an id that is not allowed gets no model call and no answer'],
  ],
  ['| a user |', ['integration/admit/chats-apart.test.ts', 'neither reads nor is sent the file of another one']],
  ['| a member of an allowed group', [FORGERY, 'a code that was seen before opens nothing']],
  ['| a member whose own id', ['integration/accept/guests.test.ts', 'a guest is offered no tool of a server']],
  [
    '| a person in `TELEGRAM_GUESTS`',
    ['integration/accept/summons.test.ts', 'only those who are named may call'],
    ['integration/accept/summons.test.ts', 'nothing of other chats gets there'],
    ['integration/accept/summons.test.ts', 'of tools there are those that read'],
  ],
  [
    '| a web page or a tool',
    ['unit/worker/recovery/seed.test.ts', 'content cannot break out of the quoted block'],
    ['integration/reply/link-previews.test.ts', 'are not previewed either'],
    ['integration/turn/set-for-later.test.ts', 'is named under the answer, and a button undoes it'],
  ],
  [
    'Before a tool changes something, somebody of the allow list',
    ['integration/turn/grants.test.ts', 'about a call for a guest they are asked'],
  ],
  [
    '- The question shows all arguments',
    ['integration/turn/shown-in-full.test.ts', 'a question shows each argument on a line of its own'],
    ['integration/turn/shown-in-full.test.ts', 'a chat that takes no file is not asked'],
  ],
  [
    '- The question stays as it was asked',
    ['integration/turn/last-word.test.ts', 'never runs, also where %s'],
    ['integration/turn/last-word.test.ts', 'a press allows what its question showed'],
  ],
  ['- "Always here" is for one tool', ['integration/turn/grants.test.ts', 'a grant ends when the %s of the tool']],
  [
    '| a tool server (MCP)',
    [SANDBOXED, 'reads neither its process, nor the settings'],
    ['integration/tools/mcp-broken.test.ts', 'patterns of a server are never run'],
    ['integration/tools/tool-servers.test.ts', 'never in its own words'],
  ],
  ['| the model endpoint or a proxy', ['integration/turn/one-end.test.ts', 'the message ends with one message']],
  [
    '| somebody on the network',
    ['unit/shared/base/setting-values.test.ts', 'listens on 127.0.0.1 unless HTTP_HOST says otherwise'],
  ],
  [
    '| another user of the machine',
    ['integration/redis/private-redis.test.ts', 'the server runs with the settings that keep data safe and private'],
  ],
  [
    '**Default deny.**',
    ['unit/shared/base/settings.test.ts', 'TELEGRAM_ALLOWED_IDS'],
    ['integration/operator/cli-allow.test.ts', 'what the settings say cannot be taken back here'],
    ['unit/producer/accept/gate.test.ts', 'marks a sender who is not allowed as a person as a guest'],
    ['unit/producer/accept/read-update.test.ts', 'a channel or an anonymous admin whose sender is a shared bot'],
  ],
  ['**Money has a limit.**', [MONEY, 'out of the box all chats together'], [MONEY, 'no more than one call is over']],
  ['| `bwrap` that works', [SANDBOXED, 'reads neither its process'], [SANDBOX, 'folders to write to']],
  ['| no `bwrap`, and the gateway runs as root', [SANDBOX, 'without bubblewrap a server of root is another user']],
  ['| neither, as in the container', [SANDBOXED, 'without a sandbox it can, and check says so']],
  [
    'What a server may send and use is',
    [FLOOD, 'that floods us with'],
    [SERVERS, 'hoards'],
    [SERVERS, 'the kernel holds'],
  ],
  ['| behind `bwrap`', [FLOOD, 'when the gateway is killed'], [SANDBOX, 'a stop ends all that a server has started']],
  ['| Linux without `bwrap`', [FLOOD, 'when the gateway is killed'], [SERVERS, 'an orphan $kind holds the pipes']],
  // What other systems lack no test on Linux can show.
  ['| macOS and others', [SERVERS, 'the kernel holds']],
  ['| `TELEGRAM_BOT_TOKEN`', NOT_LOGGED, [FORGERY, 'no code leaves']],
  ['| `ANTHROPIC_API_KEY`', NOT_LOGGED],
  ['| `TRANSCRIPTION_API_KEY`', ['contract/transcription-stand-in.test.ts', 'key']],
  ['| `TELEGRAM_WEBHOOK_SECRET`', ['integration/receive/webhook-process.test.ts', 'neither the secret nor the URL']],
  ['| passwords in `REDIS_URL`', NOT_LOGGED],
  [
    '| `env` and `headers` in `MCP_CONFIG`',
    ['unit/worker/features/mcp/config.test.ts', 'replaces the secrets of a server'],
  ],
  ['| `AWS_SECRET_ACCESS_KEY`', ['integration/media/bucket-blobs.test.ts', 'holds neither key nor signature']],
  [
    '| `OPERATOR_TOKEN`',
    ['integration/operator/console-login.test.ts', 'a cookie that scripts and other sites cannot use'],
  ],
  ['| `DEADMAN_URL`', ['integration/alerts/watchdog.test.ts', 'no log has its URL']],
  ['- A malformed setting', ['unit/shared/base/settings.test.ts', 'never quotes its value']],
  ['- Texts of providers', ['integration/turn/surprise.test.ts', 'its text is not logged']],
  ['- Credentials that people paste', ['unit/worker/recovery/seed.test.ts', 'a seed contains no credentials']],
  [
    '- The content of messages',
    ['integration/observe/telemetry.test.ts', 'holds nothing of what was said'],
    [PROCESS, 'LOG_CONTENT=true logs the text of messages'],
  ],
  [
    '| `HTTP_HOST:HTTP_PORT`, `/console`',
    ['integration/operator/console-login.test.ts', 'a form without the key of the session'],
  ],
  ['| `HTTP_HOST:HTTP_PORT`, `/healthz`', ['integration/observe/hosts.test.ts', 'is refused at every path']],
  ['| the same, on the path', ['contract/webhook.test.ts', '404 to other paths']],
  ['| Redis (compose file)', ['integration/redis/compose-redis.test.ts', 'published at no port']],
  ['| Redis (private)', ['integration/redis/private-redis.test.ts', 'a folder that lets others in is closed']],
  [
    '| Grafana, Prometheus',
    ['contract/ops.test.ts', 'bound to 127.0.0.1'],
    ['contract/ops.test.ts', 'no anonymous access'],
  ],
  [
    'Every path of `HTTP_PORT` answers 421',
    ['integration/observe/hosts.test.ts', 'is refused at every path'],
    ['integration/observe/hosts.test.ts', '2,000 forms of strangers leave a few lines'],
    ['contract/webhook.test.ts', 'of 1,000 wrong secrets few are judged at once'],
  ],
  ['| a file of a user', ['integration/media/files.test.ts', 'of more than 20 MB']],
  [
    '| a picture or a PDF',
    [HOSTILE, 'under 512 MB no file harms anybody'],
    [HOSTILE, 'within the limits of a decoder'],
  ],
  ['| an answer of the model', ['integration/model/model-overlong.test.ts', 'a response beyond its bound ends there']],
  [
    '| a message of a tool server',
    ['integration/tools/mcp-broken.test.ts', 'an endless answer is not read to its end'],
  ],
  ['| a delivery of the webhook', ['contract/webhook.test.ts', '413 to one byte more']],
  ['| a transcript', ['contract/transcription-stand-in.test.ts', 'MB']],
  ["A page, a file, a tool's result", [MEMORY, 'what is noted after a tool was used']],
  ['- Each change is named under', [MEMORY, 'each change has its Undo']],
  ['- The lines stand in the request', ['unit/worker/features/memory/memory.test.ts', 'says what the notes are']],
  ['- Guests of a group and due', [MEMORY, 'guests of a group are neither shown'], [MEMORY, 'thirty calls at once']],
  ['The container runs as', ['contract/ops.test.ts', 'every service is hardened and limited']],
  [
    'Dependencies are pinned',
    ['contract/install.test.ts', 'runs no script of a dependency'],
    ['contract/ops.test.ts', 'every image has an exact version'],
  ],
  ['A search of `recall`', ['integration/tools/recall-past.test.ts', 'what was erased is not found any more']],
];

const page = readFileSync(join(PROJECT_ROOT, 'SECURITY.md'), 'utf8');

/** Rows of tables without their heads, items, and paragraphs, each by its first line. */
function linesOf(text: string): string[] {
  const promised = text.slice(text.indexOf('## What is protected'));
  return promised.split('\n').flatMap((line, at, all) => {
    if (/^\|---/.test(all[at + 1] ?? '') || /^(?:\|---|#|\s|$)/.test(line)) return [];
    const isNew = /^[|-]/.test(line) || (all[at - 1] ?? '') === '';
    return isNew ? [line] : [];
  });
}

/** Paragraphs that only say how to read the page, or what is not promised. */
const NO_PROMISE = [
  'What does not: a page that was read',
  'What does not: a server can change',
  'A server of `MCP_CONFIG` that is a program',
  'In every case it has the network',
  'All conversations are in Redis',
];

test('each line of SECURITY.md is held by a test, and none is listed that the page does not have', () => {
  const lines = linesOf(page);
  const known = [...HELD.map(([line]) => line), ...NO_PROMISE];
  expect(lines.filter((line) => !known.some((begins) => line.startsWith(begins)))).toEqual([]);
  expect(known.filter((begins) => !lines.some((line) => line.startsWith(begins)))).toEqual([]);
});

test.each(HELD.map(([line, ...tests]) => [line, tests] as const))('%s … is held by tests that exist', (_, tests) => {
  for (const [file, words] of tests)
    expect([file, words, readFileSync(join(PROJECT_ROOT, 'test', file), 'utf8').includes(words)]).toEqual([
      file,
      words,
      true,
    ]);
});
