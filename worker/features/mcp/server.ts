import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { pause } from '../../../shared/base/lifecycle.ts';
import type { Logger } from '../../../shared/base/log.ts';
import { listTools, shownInLine, wordsOfFailure } from './call.ts';
import { type McpServer, scrubberOf } from './config.ts';
import type { McpLimits } from './limits.ts';
import { Link } from './link.ts';
import { type Sandbox, sandboxFor } from './sandbox.ts';
import type { ServerTools } from './tool.ts';

const REASON_CHARS_MAX = 300;
const NAME_CHARS_MAX = 64;

/**
 * A server that is kept connected until it is stopped: whenever the connection ends, it is opened again, with growing
 * waits.
 *
 * Contract: nothing throws.
 */
export class RunningServer {
  readonly config: McpServer;
  readonly limits: McpLimits;
  /** Removes the configuration's secrets from a text. */
  readonly scrub: (text: string) => string;
  /** Resolves when the first try to connect has succeeded or failed. */
  readonly tried: Promise<void>;
  /** The last usable connection; it may be over. */
  link: Link | undefined;
  /** The same object as long as the list is the same, also while the server is away; empty until it has connected once. */
  list: ServerTools = { tools: [], omitted: [] };
  /** Why it is unavailable, as a text for the operator; `undefined` when it is available. */
  problem: string | undefined = 'it has not answered yet';
  readonly #log: Logger;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  #sandbox: Sandbox;
  /** The connection that is open or being opened. */
  #current: Link | undefined;
  #brokenBound: string | undefined;
  /** Since when the connection is usable; infinite while there is none. */
  #upSinceMs = Number.POSITIVE_INFINITY;

  constructor(config: McpServer, limits: McpLimits, sandbox: Sandbox, log: Logger) {
    this.config = config;
    this.limits = limits;
    this.scrub = scrubberOf(config);
    this.#sandbox = sandbox;
    this.#log = log;
    const tried = Promise.withResolvers<void>();
    this.tried = tried.promise;
    this.#running = this.#keep(tried.resolve);
  }

  /** The bound for which its last connection was ended, in our own words, until a connection has held for a while. */
  get broken(): string | undefined {
    return performance.now() - this.#upSinceMs < this.limits.steadyMs ? this.#brokenBound : undefined;
  }

  /** Why a program runs without a sandbox; `undefined` where there is one, and for servers over HTTP. */
  get unconfined(): string | undefined {
    return this.config.kind === 'stdio' && this.#sandbox.kind === 'none' ? this.#sandbox.why : undefined;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#current?.end('closed by us');
    await this.#running;
  }

  async #keep(onTried: () => void): Promise<void> {
    const folder = join(tmpdir(), `spillway-mcp-${randomUUID()}`);
    const { config, limits } = this;
    const stopping = this.#stopping.signal;
    this.#sandbox = await sandboxFor(config, this.#sandbox);
    const onStderr = (line: string) => {
      if (!this.#log.isLevelEnabled('debug')) return;
      this.#log.debug({ server: config.name, line: this.scrub(line) }, 'standard error of a server');
    };
    const settings = { folder, sandbox: this.#sandbox, onStderr };
    for (let tries = 1; !stopping.aborted; tries++) {
      this.#current = new Link(config, limits, settings);
      const heldMs = await this.#serve(this.#current, onTried);
      // The next program must not overlap with the last one: both may hold the same files.
      await this.#current.close();
      if (stopping.aborted) break;
      if (heldMs >= limits.steadyMs) tries = 1;
      const fullWaitMs = Math.min(limits.retryMs * 2 ** (tries - 1), limits.retryMaxMs);
      const waitMs = Math.round(fullWaitMs * (0.75 + 0.25 * Math.random()));
      const words = { server: config.name, reason: this.problem, tries, waitMs };
      this.#log.warn(words, 'an MCP server is away; it is tried again');
      await pause(waitMs, stopping);
    }
    await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  }

  /** Makes a connection usable and keeps its tools current until it is over. Returns for how long it was usable. */
  async #serve(link: Link, onTried: () => void): Promise<number> {
    const { config, limits } = this;
    const deadline = setTimeout(() => link.end('it was not ready in time'), limits.connectMs);
    let change = Promise.withResolvers<void>();
    link.client.setNotificationHandler(ToolListChangedNotificationSchema, () => change.resolve());
    link.over.addEventListener('abort', () => change.resolve());
    let words = '';
    try {
      await link.ready;
      await this.#readList(link);
      clearTimeout(deadline);
      this.link = link;
      this.problem = undefined;
      this.#upSinceMs = performance.now();
      onTried();
      this.#log.info({ server: config.name, tools: this.list.tools.length }, 'an MCP server is up');
      while (!link.over.aborted) {
        await change.promise;
        change = Promise.withResolvers();
        if (!link.over.aborted) await this.#readChangedList(link);
        await pause(limits.relistMs, link.over);
      }
    } catch (error) {
      words = wordsOfFailure(error);
    }
    clearTimeout(deadline);
    const heldMs = Math.max(0, performance.now() - this.#upSinceMs);
    this.#upSinceMs = Number.POSITIVE_INFINITY;
    this.problem = shownInLine(this, link.over.aborted ? String(link.over.reason) : words, REASON_CHARS_MAX);
    this.#brokenBound = link.broken ?? (heldMs < limits.steadyMs ? this.#brokenBound : undefined);
    onTried();
    return heldMs;
  }

  async #readChangedList(link: Link): Promise<void> {
    try {
      await this.#readList(link);
    } catch (error) {
      if (link.over.aborted) return;
      const reason = shownInLine(this, wordsOfFailure(error), REASON_CHARS_MAX);
      this.#log.warn({ server: this.config.name, reason }, 'the tools of a server could not be listed again');
    }
  }

  async #readList(link: Link): Promise<void> {
    const { tools, ...read } = await listTools(link, this.limits);
    const omitted = read.omitted.map(({ tool, why }) => ({
      tool: shownInLine(this, tool, NAME_CHARS_MAX),
      why: shownInLine(this, why, REASON_CHARS_MAX),
    }));
    if (JSON.stringify({ tools, omitted }) !== JSON.stringify(this.list)) this.list = { tools, omitted };
  }
}
