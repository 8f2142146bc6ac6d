import cluster, { type Worker } from 'node:cluster';
import { within } from '../base/lifecycle.ts';
import type { Telemetry } from '../base/telemetry.ts';
import type { Route } from './health.ts';

/** A process that stands still must not make the others invisible; it is missing in the answer. */
const TELL_MS = 2_000;
/** Longer than the supervisor waits for a process. */
const ANSWER_MS = 4_000;

/**
 * Messages of a supervisor and its processes. A process wants the metrics of all (`wanted`); the supervisor asks
 * each one (`asked`), is told (`told`), and sends what they make together (`joined`).
 */
interface Message {
  readonly metrics: 'wanted' | 'asked' | 'told' | 'joined';
  /** Of the question that this belongs to. */
  readonly id: number;
  readonly text?: string;
}

/** Questions that wait for an answer. */
class Questions {
  readonly #waiting = new Map<number, (text: string) => void>();
  #last = 0;

  /** Asks, and waits for the text; undefined when none comes in time. */
  async ask(send: (id: number) => void, patienceMs: number): Promise<string | undefined> {
    const id = ++this.#last;
    const answer = Promise.withResolvers<string>();
    this.#waiting.set(id, answer.resolve);
    try {
      send(id);
      return await within(answer.promise, patienceMs);
    } finally {
      this.#waiting.delete(id);
    }
  }

  answer({ id, text = '' }: Message): void {
    this.#waiting.get(id)?.(text);
  }
}

/**
 * Lets each process of a supervisor show the metrics of all of them. `processes` names those that run. A process that
 * does not answer within two seconds is left out.
 */
export function superviseMetrics(processes: () => ReadonlyMap<string, Worker>): void {
  const questions = new Questions();
  const textOf = (worker: Worker) => questions.ask((id) => send(worker, { metrics: 'asked', id }), TELL_MS);
  cluster.on('message', async (asking: Worker, message: unknown) => {
    if (!isMessage(message)) return;
    if (message.metrics === 'told') return questions.answer(message);
    if (message.metrics !== 'wanted') return;
    const told = await Promise.all(
      [...processes()].map(async ([name, worker]) => [name, await textOf(worker)] as const),
    );
    const texts = new Map(told.flatMap(([name, text]) => (text === undefined ? [] : [[name, text] as const])));
    send(asking, { metrics: 'joined', id: message.id, text: joinMetrics(texts) });
  });
}

/**
 * Tells the supervisor of this process its metrics whenever it asks.
 *
 * Contract: what is returned resolves with the metrics of all processes as Prometheus' text, and rejects when the
 * supervisor does not answer.
 */
function exchangeMetrics(scrape: () => Promise<string>): () => Promise<string> {
  const questions = new Questions();
  const tell = (message: Message) => void process.send?.(message);
  process.on('message', async (message: unknown) => {
    if (!isMessage(message)) return;
    if (message.metrics === 'joined') return questions.answer(message);
    // A process that cannot read its metrics does not answer.
    if (message.metrics === 'asked')
      await scrape().then((text) => tell({ metrics: 'told', id: message.id, text }), noop);
  });
  return async () => {
    const text = await questions.ask((id) => tell({ metrics: 'wanted', id }), ANSWER_MS);
    if (text === undefined) throw new Error('the supervisor does not answer');
    return text;
  };
}

/** A process that has just ended cannot be asked. */
function send(worker: Worker, message: Message): void {
  if (worker.isConnected()) worker.send(message, noop);
}

function isMessage(message: unknown): message is Message {
  return typeof message === 'object' && message !== null && 'metrics' in message && 'id' in message;
}

function noop(): void {}

/** `GET /metrics`: the metrics as Prometheus' text; of all processes where several share the port. */
export function metricsRoute({ scrape }: Pick<Telemetry, 'scrape'>): Route {
  const shown = cluster.isWorker ? exchangeMetrics(scrape) : scrape;
  return {
    path: '/metrics',
    async handle(request, response) {
      if (request.method !== 'GET') return void response.writeHead(404).end();
      try {
        const text = await shown();
        response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text);
      } catch {
        response.writeHead(500).end();
      }
    },
  };
}

/** One metric in the scrapes of several processes. */
interface Family {
  /** Its help, type and unit, each once. */
  comments: Map<string, string>;
  samples: string[];
}

const COMMENT = /^# (HELP|TYPE|UNIT) (\S+)/;
const SAMPLE = /^([^\s{]+)(\{?)/;

/**
 * Joins Prometheus texts of several processes into one: each metric once, each sample with the label `process`, which
 * names where it comes from. Pure.
 */
export function joinMetrics(texts: ReadonlyMap<string, string>): string {
  const families = new Map<string, Family>();
  for (const [process, text] of texts) addTo(families, process, text);
  const lines = [...families.values()].flatMap(({ comments, samples }) => [...comments.values(), ...samples]);
  return lines.map((line) => `${line}\n`).join('');
}

function addTo(families: Map<string, Family>, process: string, text: string): void {
  let family: Family | undefined;
  for (const line of text.split('\n')) {
    const [, kind, name] = COMMENT.exec(line) ?? [];
    if (kind !== undefined && name !== undefined) {
      family = families.get(name) ?? { comments: new Map(), samples: [] };
      families.set(name, family);
      if (!family.comments.has(kind)) family.comments.set(kind, line);
    } else if (line !== '') family?.samples.push(withProcess(line, process));
  }
}

function withProcess(sample: string, process: string): string {
  return sample.replace(SAMPLE, (_, name: string, brace: string) =>
    brace === '' ? `${name}{process="${process}"}` : `${name}{process="${process}",`,
  );
}
