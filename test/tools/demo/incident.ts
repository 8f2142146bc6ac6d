/** The session that silenced a real gateway for hours: 15,276 records, 35 MB. */
export const INCIDENT_RECORDS = 15_276;
const INCIDENT_BYTES = 35_000_000;

const TOPICS = ['the nightly export', 'the billing webhook', 'the search index', 'the image cache', 'the login flow'];
const WORDS =
  'we looked at the trace and saw that the worker waits for the lock while the queue grows so the next step is to measure before we change anything else in the deploy'.split(
    ' ',
  );

/**
 * The incident's records as the lines that `session import` reads: questions, answers, and tool calls with their long
 * results. Deterministic; a record has the size that makes the whole 35 MB.
 */
export function* incidentLines(): Generator<string> {
  const perRecord = Math.floor(INCIDENT_BYTES / INCIDENT_RECORDS);
  for (let index = 0; index < INCIDENT_RECORDS; index += 4) {
    const at = new Date(Date.UTC(2026, 1, 1) + index * 60_000).toISOString();
    const topic = TOPICS[(index / 4) % TOPICS.length] ?? '';
    const id = `toolu_${String(index).padStart(6, '0')}`;
    const turn = index / 4;
    yield line(
      'user',
      prose(`Turn ${turn}: what is the state of ${topic}? See src/${topic.split(' ')[1]}-${turn % 40}.ts.`, 400),
      at,
    );
    yield line(
      'assistant',
      [
        { type: 'text', text: `I look at the log of ${topic}.` },
        { type: 'tool_use', id, name: 'read_log', input: { path: `logs/${turn}.log`, lines: 400 } },
      ],
      at,
    );
    yield line(
      'user',
      [{ type: 'tool_result', tool_use_id: id, content: prose(`log of ${topic}`, perRecord * 4 - 2_000) }],
      at,
    );
    yield line(
      'assistant',
      prose(`In turn ${turn} ${topic} is fine but slow. Shall I open ticket #${4000 + turn}?`, 900),
      at,
    );
  }
}

function line(role: 'user' | 'assistant', content: unknown, at: string): string {
  return JSON.stringify({ role, content, at });
}

function prose(start: string, chars: number): string {
  const words = [start];
  for (let length = start.length, i = start.length; length < chars; i += 3) {
    const word = WORDS[i % WORDS.length] ?? '';
    words.push(word);
    length += word.length + 1;
  }
  return words.join(' ');
}
