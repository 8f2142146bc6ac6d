import cluster, { type Worker } from 'node:cluster';
import { within } from '../base/lifecycle.ts';
import type { Telemetry } from '../base/telemetry.ts';
import type { Route } from './health.ts';

/** How long to wait for the metrics of one process. The metrics of a frozen process are missing from the result. */
const PROCESS_MS = 2_000;
/** How long a process waits for the joined metrics. Longer than the supervisor waits for each process. */
const ANSWER_MS = 4_000;

/**
 * Messages between a supervisor and its processes. A process asks for the metrics of all processes (`wanted`), the supervisor
 * asks each process (`asked`), each process answers (`told`), and the supervisor sends the joined text (`joined`).
 */
interface Message {
  readonly metrics: 'wanted' | 'asked' | 'told' | 'joined';
  /** The id of the question. The answer has the same id. */
  readonly id: number;
  readonly text?: string;
}

/** Questions that wait for an answer. */
class Questions {
  readonly #waiting = new Map<number, (text: string) => void>();
  #last = 0;

  /** Sends a question, and waits for the text of the answer; `undefined` if no answer arrives in time. */
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
 * Lets each process of a supervisor serve the metrics of all the supervisor's processes. `processes` returns the running
 * processes by name. The metrics of a process that does not answer within two seconds are missing from the result.
 */
export function superviseMetrics(processes: () => ReadonlyMap<string, Worker>): void {
  const questions = new Questions();
  const textOf = (worker: Worker) => questions.ask((id) => send(worker, { metrics: 'asked', id }), PROCESS_MS);
  cluster.on('message', async (asking: Worker, message: unknown) => {
    if (!isMessage(message)) return;
    if (message.metrics === 'told') return questions.answer(message);
    if (message.metrics !== 'wanted') return;
    const answers = await Promise.all(
      [...processes()].map(async ([name, worker]) => [name, await textOf(worker)] as const),
    );
    const texts = new Map(answers.flatMap(([name, text]) => (text === undefined ? [] : [[name, text] as const])));
    send(asking, { metrics: 'joined', id: message.id, text: joinMetrics(texts) });
  });
}

/**
 * Answers the supervisor's questions for the metrics of this process.
 *
 * Contract: the returned function resolves with the metrics of all processes in Prometheus' text format, and rejects when the
 * supervisor does not answer.
 */
function exchangeMetrics(scrape: () => Promise<string>): () => Promise<string> {
  const questions = new Questions();
  const sendUp = (message: Message) => void process.send?.(message);
  process.on('message', async (message: unknown) => {
    if (!isMessage(message)) return;
    if (message.metrics === 'joined') return questions.answer(message);
    // A process that cannot read its metrics does not answer.
    if (message.metrics === 'asked')
      await scrape().then((text) => sendUp({ metrics: 'told', id: message.id, text }), noop);
  });
  return async () => {
    const text = await questions.ask((id) => sendUp({ metrics: 'wanted', id }), ANSWER_MS);
    if (text === undefined) throw new Error('the supervisor does not answer');
    return text;
  };
}

/** Sends a message to a process, unless the process has just ended. */
function send(worker: Worker, message: Message): void {
  if (worker.isConnected()) worker.send(message, noop);
}

function isMessage(message: unknown): message is Message {
  return typeof message === 'object' && message !== null && 'metrics' in message && 'id' in message;
}

function noop(): void {}

/** `GET /metrics`: the metrics in Prometheus' text format; those of all processes if several share the port. */
export function metricsRoute({ scrape }: Pick<Telemetry, 'scrape'>): Route {
  const readText = cluster.isWorker ? exchangeMetrics(scrape) : scrape;
  return {
    path: '/metrics',
    async handle(request, response) {
      if (request.method !== 'GET') return void response.writeHead(404).end();
      try {
        const text = await readText();
        response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text);
      } catch {
        response.writeHead(500).end();
      }
    },
  };
}

/** One metric, merged from the Prometheus texts of several processes. */
interface Family {
  /** The metric's comment lines by their kind: `HELP`, `TYPE`, `UNIT`. */
  comments: Map<string, string>;
  samples: string[];
}

const COMMENT = /^# (HELP|TYPE|UNIT) (\S+)/;
const SAMPLE = /^([^\s{]+)(\{?)/;

/**
 * Joins the Prometheus texts of several processes into one: each metric once, and each sample with the name of its process as
 * the label `process`. Pure.
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
