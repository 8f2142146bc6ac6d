import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { pause } from '../../../shared/base/lifecycle.ts';
import type { Logger } from '../../../shared/base/log.ts';
import { errorWords, listTools, safeLine } from './call.ts';
import { type McpServer, scrubberOf } from './config.ts';
import type { McpLimits } from './limits.ts';
import { Link } from './link.ts';
import { type Sandbox, sandboxFor } from './sandbox.ts';
import type { ServerTools } from './tool.ts';

const REASON_CHARS_MAX = 300;
const NAME_CHARS_MAX = 64;

/**
 * A server with its connection. Until `stop`, it reconnects after each end of a connection, with growing waits.
 *
 * Contract: nothing throws.
 */
export class RunningServer {
  readonly config: McpServer;
  readonly limits: McpLimits;
  /** Removes the configuration's secrets from a text. */
  readonly scrub: (text: string) => string;
  /** Resolves when the first try to connect has succeeded or failed. */
  readonly firstTry: Promise<void>;
  /** The newest connection that became usable; it may have ended since. */
  link: Link | undefined;
  /** The newest list of tools, one object until it changes. Empty at first, and unchanged while the server is unavailable. */
  list: ServerTools = { tools: [], omitted: [] };
  /** Why the server is unavailable, as a text for the operator; `undefined` when it is available. */
  problem: string | undefined = 'it has not answered yet';
  readonly #log: Logger;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  #sandbox: Sandbox;
  /** The connection that is open or being opened. */
  #current: Link | undefined;
  #brokenBound: string | undefined;
  /** When the connection became usable, from `performance.now()`; infinite without a usable connection. */
  #upSinceMs = Number.POSITIVE_INFINITY;

  constructor(config: McpServer, limits: McpLimits, sandbox: Sandbox, log: Logger) {
    this.config = config;
    this.limits = limits;
    this.scrub = scrubberOf(config);
    this.#sandbox = sandbox;
    this.#log = log;
    const firstTry = Promise.withResolvers<void>();
    this.firstTry = firstTry.promise;
    this.#running = this.#stayConnected(firstTry.resolve);
  }

  /** The bound that the server broke last; `undefined` as soon as a later connection has lasted for `steadyMs`. */
  get brokenBound(): string | undefined {
    return performance.now() - this.#upSinceMs < this.limits.steadyMs ? this.#brokenBound : undefined;
  }

  /** Why a program runs without a sandbox; `undefined` in a sandbox, and for servers over HTTP. */
  get whyUnconfined(): string | undefined {
    return this.config.kind === 'stdio' && this.#sandbox.kind === 'none' ? this.#sandbox.why : undefined;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#current?.end('closed by us');
    await this.#running;
  }

  async #stayConnected(onTried: () => void): Promise<void> {
    const folder = join(tmpdir(), `spillway-mcp-${randomUUID()}`);
    const { config, limits } = this;
    const stopSignal = this.#stopping.signal;
    this.#sandbox = await sandboxFor(config, this.#sandbox);
    const onStderr = (line: string) => {
      if (!this.#log.isLevelEnabled('debug')) return;
      this.#log.debug({ server: config.name, line: this.scrub(line) }, 'standard error of a server');
    };
    const settings = { folder, sandbox: this.#sandbox, onStderr };
    for (let tries = 1; !stopSignal.aborted; tries++) {
      this.#current = new Link(config, limits, settings);
      const usableMs = await this.#serve(this.#current, onTried);
      // Wait for the end of the program: two at once could lock the same files.
      await this.#current.close();
      if (stopSignal.aborted) break;
      if (usableMs >= limits.steadyMs) tries = 1;
      const fullWaitMs = Math.min(limits.retryMs * 2 ** (tries - 1), limits.retryMaxMs);
      const waitMs = Math.round(fullWaitMs * (0.75 + 0.25 * Math.random()));
      const words = { server: config.name, reason: this.problem, tries, waitMs };
      this.#log.warn(words, 'an MCP server is away; it is tried again');
      await pause(waitMs, stopSignal);
    }
    await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  }

  /** Makes a connection usable, and keeps its list of tools current until the end. Returns how long it was usable, in ms. */
  async #serve(link: Link, onTried: () => void): Promise<number> {
    const { config, limits } = this;
    const deadline = setTimeout(() => link.end('it was not ready in time'), limits.connectMs);
    let change = Promise.withResolvers<void>();
    link.client.setNotificationHandler(ToolListChangedNotificationSchema, () => change.resolve());
    link.endSignal.addEventListener('abort', () => change.resolve());
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
      while (!link.endSignal.aborted) {
        await change.promise;
        change = Promise.withResolvers();
        if (!link.endSignal.aborted) await this.#readChangedList(link);
        await pause(limits.relistMs, link.endSignal);
      }
    } catch (error) {
      words = errorWords(error);
    }
    clearTimeout(deadline);
    const usableMs = Math.max(0, performance.now() - this.#upSinceMs);
    this.#upSinceMs = Number.POSITIVE_INFINITY;
    this.problem = safeLine(this, link.endSignal.aborted ? String(link.endSignal.reason) : words, REASON_CHARS_MAX);
    this.#brokenBound = link.brokenBound ?? (usableMs < limits.steadyMs ? this.#brokenBound : undefined);
    onTried();
    return usableMs;
  }

  async #readChangedList(link: Link): Promise<void> {
    try {
      await this.#readList(link);
    } catch (error) {
      if (link.endSignal.aborted) return;
      const reason = safeLine(this, errorWords(error), REASON_CHARS_MAX);
      this.#log.warn({ server: this.config.name, reason }, 'the tools of a server could not be listed again');
    }
  }

  async #readList(link: Link): Promise<void> {
    const { tools, ...read } = await listTools(link, this.limits);
    const omitted = read.omitted.map(({ tool, why }) => ({
      tool: safeLine(this, tool, NAME_CHARS_MAX),
      why: safeLine(this, why, REASON_CHARS_MAX),
    }));
    if (JSON.stringify({ tools, omitted }) !== JSON.stringify(this.list)) this.list = { tools, omitted };
  }
}
