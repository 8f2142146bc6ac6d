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
