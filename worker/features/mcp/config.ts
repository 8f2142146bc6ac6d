import { z } from 'zod';
import { jsonValue } from '../../../shared/base/fields.ts';
import { redact } from '../../../shared/base/redact.ts';
import { clip } from '../../../shared/base/text.ts';

/** When the gateway asks a person before it calls a tool. `write`: unless the tool only reads. */
const APPROVALS = ['never', 'write', 'always'] as const;

const NAME_CHARS_SHOWN = 80;

const SSE_REFUSED = 'the transport "sse" is not supported, since MCP replaced it; use the streamable HTTP address';

const withoutNul = z
  .string('expected a string')
  .refine((text) => !text.includes('\0'), 'expected a string without NUL characters');
const nonEmpty = withoutNul.refine((text) => text !== '', 'expected a string that is not empty');

const environment = z.record(
  z.string().regex(/^[^=\0]+$/),
  withoutNul,
  'expected an object of strings, whose names have no "=" and NUL',
);
const headerList = z.record(
  z.string().regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/),
  z
    .string('expected a string')
    .regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'expected the value of an HTTP header, in one line of Latin-1'),
  'expected an object of strings, whose names are those of HTTP headers',
);
const address = z.string('expected an http or https URL').superRefine((text, problems) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') problems.addIssue('expected an http or https URL');
  else if (url.username || url.password) {
    problems.addIssue('expected a URL without user name and password; use an Authorization header');
  }
});

const limit = (usual: number) => z.int('expected a whole number').min(1, 'expected a number above 0').default(usual);
/**
 * How much a server may send and use. A server that drives a browser needs some 500 threads and 1 GB. Handling 100 messages a
 * second takes less than 1 % of a processor. Most systems limit a process to 1,024 open files.
 */
const limits = z.object({
  /** Messages a second that answer no request of the gateway; five times as many may come at once. */
  messages: limit(100),
  /** Processes and threads of a program. */
  processes: limit(1_024),
  /** Memory of all processes of a program. */
  memoryMb: limit(2_048),
  /** Open files of one process. */
  openFiles: limit(4_096),
});
export type ServerLimits = z.infer<typeof limits>;
export const SERVER_LIMITS: ServerLimits = limits.parse({});

/** The settings that programs and HTTP servers share. */
const general = {
  disabled: z.literal(false, 'expected true or false').optional(),
  limits: limits.default(SERVER_LIMITS),
  approve: z.enum(APPROVALS, 'expected "never", "write" or "always"').default('write'),
  /** Whether guests of a group may use this server's tools, and summonses those that only read and never ask. */
  guests: z.boolean('expected true or false').default(false),
  /** Approvals of single tools, by the name that the server gives each; the model never sees a tool that is `off`. */
  tools: z
    .record(z.string(), z.enum([...APPROVALS, 'off'], 'expected "never", "write", "always" or "off"'))
    .default({}),
};
const stdioEntry = z
  .object({
    ...general,
    type: z.literal('stdio', 'expected "stdio", since there is a command').optional(),
    command: nonEmpty,
    args: z.array(withoutNul, 'expected an array of strings').default([]),
    /** Variables for the program, in addition to the few that every program needs. */
    env: environment.default({}),
    cwd: nonEmpty.optional(),
  })
  .transform(({ type: _, disabled: __, ...entry }) => ({ kind: 'stdio' as const, ...entry }));
const httpEntry = z
  .object({
    ...general,
    type: z
      .enum(['http', 'streamable-http'], {
        error: ({ input }) => (input === 'sse' ? SSE_REFUSED : 'expected "http" or "streamable-http"'),
      })
      .optional(),
    url: address,
    headers: headerList.default({}),
  })
  .transform(({ type: _, disabled: __, ...entry }) => ({ kind: 'http' as const, ...entry }));

/** A server that is a program and speaks MCP on its standard input and output. */
export type StdioServer = { name: string } & z.infer<typeof stdioEntry>;
/** A server that speaks streamable HTTP. */
export type HttpServer = { name: string } & z.infer<typeof httpEntry>;
export type McpServer = StdioServer | HttpServer;

/** The enabled servers in the order of the file, and the names of all servers, also of disabled ones; or all problems. */
export type McpConfigReading =
  | { ok: true; servers: readonly McpServer[]; names: readonly string[] }
  | { ok: false; problems: readonly string[] };

const file = z.looseObject({
  mcpServers: z.record(z.string(), z.unknown(), 'expected an object with a server under each name'),
});

/**
 * Reads the usual MCP configuration, `{"mcpServers": {"name": {"command", …} or {"url", …}}}`. Pure. Finds the problems of all
 * servers in one pass; each names the server and the field, and never quotes a value, which may be a secret. Ignores unknown
 * keys and servers with `"disabled": true`. Expands nothing: `${VAR}` stays as written.
 */
export function readMcpConfig(json: string): McpConfigReading {
  const value = jsonValue(json);
  if (value === undefined) return { ok: false, problems: ['the MCP configuration is not JSON'] };
  const read = file.safeParse(value);
  if (!read.success) {
    return { ok: false, problems: read.error.issues.map((issue) => `the MCP configuration: ${fault(issue)}`) };
  }
  const readings = Object.entries(read.data.mcpServers).map(([name, entry]) => readServer(name, entry));
  const problems = readings.flatMap((reading) => reading.problems);
  if (problems.length > 0) return { ok: false, problems };
  const names = Object.keys(read.data.mcpServers);
  return { ok: true, servers: readings.flatMap((reading) => reading.server ?? []), names };
}

function readServer(name: string, entry: unknown): { server?: McpServer; problems: readonly string[] } {
  const refuse = (problems: readonly string[]) => ({
    problems: problems.map((problem) => `MCP server ${JSON.stringify(clip(name, NAME_CHARS_SHOWN))}: ${problem}`),
  });
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return refuse(['expected an object']);
  const { type, command, url, disabled } = entry as Record<string, unknown>;
  if (disabled === true) return { problems: [] };
  if (name === '') return refuse(['expected a name that is not empty']);
  if (command !== undefined && url !== undefined) return refuse(['expected a command or a url, not both']);
  if (command === undefined && url === undefined && type === undefined) {
    return refuse(['expected a command or a url']);
  }
  const isStdio = command !== undefined || (url === undefined && type === 'stdio');
  const read = isStdio ? stdioEntry.safeParse(entry) : httpEntry.safeParse(entry);
  return read.success ? { server: { name, ...read.data }, problems: [] } : refuse(read.error.issues.map(fault));
}

/** A problem, preceded by the path of keys to its field. Never quotes a value. */
function fault(issue: { path: readonly PropertyKey[]; message: string }): string {
  const place = issue.path.map((key) => clip(String(key), NAME_CHARS_SHOWN).toWellFormed()).join('.');
  return place === '' ? issue.message : `${place}: ${issue.message}`;
}

/** Values shorter than this stay in a text, because they are likely to be part of ordinary words. */
const SECRET_CHARS_MIN = 8;
/** Parts of a URL's path of this length or more are probably keys. */
const ADDRESS_SECRET_CHARS_MIN = 16;

/**
 * Returns a function that makes a text safe for logs and answers: it replaces the secrets of this server's configuration,
 * except short ones, and then everything that looks like a credential.
 */
export function scrubberOf(server: McpServer): (text: string) => string {
  const secrets = server.kind === 'stdio' ? Object.values(server.env).flatMap(forms) : httpSecrets(server);
  const longestFirst = [...new Set(secrets)].sort((one, other) => other.length - one.length);
  return (text) => redact(longestFirst.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text));
}

function httpSecrets({ url, headers }: HttpServer): string[] {
  const { pathname, searchParams } = new URL(url);
  const inAddress = pathname.split('/').filter((part) => part.length >= ADDRESS_SECRET_CHARS_MIN);
  // For `Bearer x`, both the whole value and `x` alone are secrets.
  const inHeaders = Object.values(headers).flatMap((value) => [value, ...value.split(/\s+/)]);
  return [...inHeaders, ...inAddress, ...searchParams.values()].flatMap(forms);
}

/** A secret as it is, line by line, and as it appears inside JSON or an address; without forms that are too short. */
function forms(secret: string): string[] {
  const plain = [secret.trim(), ...secret.split(/\r?\n/)];
  const spellings = plain.flatMap((text) => [text, JSON.stringify(text).slice(1, -1), encode(text)]);
  return spellings.filter((text) => text.length >= SECRET_CHARS_MIN);
}

function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
