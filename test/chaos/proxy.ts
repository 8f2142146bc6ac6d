/**
 * A TCP proxy on loopback between a gateway and its Redis, which can do to connections what networks do to them. What
 * it breaks it never fixes in place: a connection that has lost a byte is closed, as TCP would close it.
 */
import { createServer, type Server, type Socket, connect as tcpConnect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** How fast a slow line is, each way. */
export interface Pace {
  bytesPerSecond: number;
  latencyMs: number;
}

/** A running proxy. Every method acts at once; `forward` ends whatever the others began. */
export type RedisProxy = Pick<TcpProxy, keyof TcpProxy>;

const LOOPBACK = '127.0.0.1';
const TICK_MS = 20;
/** A server that was given a command has carried it out by then; a reset that came at once could overtake it. */
const CARRIED_OUT_MS = 50;

/** One connection through the proxy: the gateway's end and the server's. */
class Link {
  readonly client: Socket;
  readonly server: Socket;
  /** Bytes of it were thrown away, so it can only be closed. */
  isBroken = false;
  isSilent = false;
  /** Its replies are thrown away, and it is about to be reset. */
  isCut = false;

  constructor(client: Socket, server: Socket) {
    this.client = client;
    this.server = server;
  }

  reset(): void {
    this.client.resetAndDestroy();
    this.server.destroy();
  }
}

class TcpProxy {
  port = 0;
  /** How many connections were opened since the start. */
  opened = 0;
  #targetPort: number;
  readonly #links = new Set<Link>();
  readonly #server: Server;
  #mode: 'forward' | 'drop replies' | 'refuse' = 'forward';
  #pace: Pace | undefined;
  #cutting: { word: string; done: () => void } | undefined;

  constructor(targetPort: number) {
    this.#targetPort = targetPort;
    this.#server = createServer((client) => this.#accept(client));
  }

  async start(): Promise<this> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#server.once('error', reject);
    this.#server.listen(0, LOOPBACK, resolve);
    await promise;
    this.port = (this.#server.address() as { port: number }).port;
    return this;
  }

  /** How many connections are silent, and their clients have not noticed it yet. */
  get silent(): number {
    return [...this.#links].filter(({ isSilent }) => isSilent).length;
  }

  /** Back to normal. Connections that were refused a byte are reset, so that nobody reads a reply that is not theirs. */
  forward(): void {
    this.#mode = 'forward';
    this.#pace = undefined;
    for (const link of [...this.#links]) if (link.isBroken) link.reset();
  }

  /** Commands arrive and are carried out; their replies are lost. */
  dropReplies(): void {
    this.#mode = 'drop replies';
  }

  /** The connections that exist fall silent for ever, both ways, without closing; new ones work. */
  blackHole(): void {
    for (const link of this.#links) link.isSilent = true;
  }

  /** Every connection that exists is reset; new ones work. */
  resetAll(): void {
    for (const link of [...this.#links]) link.reset();
  }

  /** Every connection is reset, and new ones are too. */
  refuse(): void {
    this.#mode = 'refuse';
    this.resetAll();
  }

  slow(pace: Pace): void {
    this.#pace = pace;
  }

  /**
   * The next command that holds a word is carried out, and its connection is reset before the reply comes through, with
   * whatever else is under way on it. Resolves when that was done.
   */
  cutReplyTo(word: string): Promise<void> {
    return new Promise((done) => {
      this.#cutting = { word, done };
    });
  }

  /** New connections go to another server, as after a failover behind one address; those that exist stay where they are. */
  pointAt(port: number): void {
    this.#targetPort = port;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const link of [...this.#links]) link.reset();
    await closed;
  }

  #accept(client: Socket): void {
    this.opened += 1;
    // A socket that is reset tells an error that is nobody's news here.
    client.on('error', () => {});
    if (this.#mode === 'refuse') {
      client.resetAndDestroy();
      return;
    }
    const server = tcpConnect(this.#targetPort, LOOPBACK);
    server.on('error', () => {});
    const link = new Link(client, server);
    this.#links.add(link);
    client.setNoDelay(true);
    server.setNoDelay(true);
    void this.#carry(link, client, server, 'command');
    void this.#carry(link, server, client, 'reply');
    client.once('close', () => this.#end(link));
    server.once('close', () => this.#end(link));
  }

  /** The end that is silent must not learn that the other one closed: that is what makes the line half-open. */
  #end(link: Link): void {
    const clientGone = link.client.destroyed;
    if (link.isSilent && !clientGone) return;
    this.#links.delete(link);
    link.client.destroy();
    link.server.destroy();
  }

  async #carry(link: Link, from: Socket, to: Socket, what: 'command' | 'reply'): Promise<void> {
    try {
      for await (const chunk of from as AsyncIterable<Buffer>) await this.#pass(link, chunk, to, what);
      if (!link.isSilent) to.end();
    } catch {
      // The other end closes with this one, by `#end`.
    }
  }

  async #pass(link: Link, chunk: Buffer, to: Socket, what: 'command' | 'reply'): Promise<void> {
    if (link.isSilent) return;
    if (what === 'reply' && (link.isCut || this.#mode === 'drop replies')) {
      link.isBroken = true;
      return;
    }
    if (what === 'command' && this.#cutting && chunk.includes(this.#cutting.word)) this.#cut(link, this.#cutting.done);
    if (this.#pace !== undefined) return this.#trickle(link, chunk, to, this.#pace);
    await written(to, chunk);
  }

  #cut(link: Link, done: () => void): void {
    this.#cutting = undefined;
    link.isCut = true;
    setTimeout(() => {
      link.reset();
      done();
    }, CARRIED_OUT_MS);
  }

  async #trickle(link: Link, chunk: Buffer, to: Socket, { bytesPerSecond, latencyMs }: Pace): Promise<void> {
    await pause(latencyMs);
    const step = Math.max(1, Math.round((bytesPerSecond * TICK_MS) / 1_000));
    for (let at = 0; at < chunk.length; at += step) {
      // A line that is healed sends the rest at once.
      const size = this.#pace === undefined ? chunk.length : step;
      if (link.isSilent) return;
      await written(to, chunk.subarray(at, at + size));
      if (size > step) return;
      await pause(TICK_MS);
    }
  }
}

async function written(to: Socket, chunk: Buffer): Promise<void> {
  if (to.destroyed || to.write(chunk)) return;
  await new Promise<void>((resolve) => {
    to.once('drain', resolve);
    to.once('close', () => resolve());
  });
}

/** Starts a proxy on a free port of loopback. It forwards until it is told something else. */
export function startProxy(targetPort: number): Promise<RedisProxy> {
  return new TcpProxy(targetPort).start();
}
