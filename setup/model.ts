import { readSettings } from '../shared/base/settings.ts';
import type { RunStep, SetupPorts, Values } from './progress.ts';
import { CancelledError } from './terminal.ts';
import { faultOf } from './value.ts';

const KEY = 'ANTHROPIC_API_KEY';
const ADDRESS = 'ANTHROPIC_BASE_URL';
const MODEL = 'MODEL';

/** Asks for the model's key, address and name, until a small call succeeds or the person wants to use them anyway. */
export const askModel: RunStep = async (ports, { file, values }) => {
  const { terminal } = ports;
  const current = values[KEY] ?? '';
  const isKept = current !== '' && (await terminal.confirm(`${KEY} is set. Keep it?`));
  let answers: Values = {
    [KEY]: isKept ? current : await askKey(ports),
    ...(await askPlace(ports, values)),
  };
  for (;;) {
    const { ok, detail } = await ports.tryModel(answers);
    if (ok) terminal.good(`The model answers: ${detail}`);
    else terminal.warn(`The model does not answer: ${detail}`);
    const next = ok ? 'keep' : await chooseNext(ports);
    if (next === 'stop') throw new CancelledError();
    if (next === 'keep') return { answers: withoutDefaults(answers, file) };
    if (next === 'key') answers = { ...answers, [KEY]: await askKey(ports) };
    if (next === 'place') answers = { ...answers, ...(await askPlace(ports, answers)) };
  }
};

function askKey({ terminal }: SetupPorts): Promise<string> {
  return terminal.askSecret({
    message: 'The API key of the model (what you type is not shown)',
    faultOf: (value) => (/\s/.test(value) ? 'A key has no spaces in it.' : faultOf(KEY, value)),
  });
}

async function askPlace({ terminal }: SetupPorts, values: Values): Promise<Values> {
  const usual = usualPlace();
  const ask = (name: string, message: string) =>
    terminal.ask({ message, initial: values[name] || usual[name], faultOf: (value) => faultOf(name, value) });
  return {
    [ADDRESS]: await ask(ADDRESS, 'The address of the model (any endpoint with the Messages API)'),
    [MODEL]: await ask(MODEL, 'The model'),
  };
}

function chooseNext({ terminal }: SetupPorts): Promise<'key' | 'place' | 'again' | 'keep' | 'stop'> {
  return terminal.choose('What now?', [
    { value: 'key', label: 'Enter another key' },
    { value: 'place', label: 'Enter another address or model' },
    { value: 'again', label: 'Try again' },
    { value: 'keep', label: 'Keep it anyway' },
    { value: 'stop', label: 'Stop', hint: 'nothing is written' },
  ]);
}

/** Drops each answer that equals the default of a setting the file lacks, so that a later version's default takes effect. */
function withoutDefaults(answers: Values, file: Values): Values {
  const usual = usualPlace();
  return Object.fromEntries(
    Object.entries(answers).filter(([name, value]) => value !== usual[name] || file[name] !== undefined),
  );
}

function usualPlace(): Values {
  const reading = readSettings({}, 'tool');
  return reading.ok ? { [ADDRESS]: reading.settings.ANTHROPIC_BASE_URL, [MODEL]: reading.settings.MODEL } : {};
}
